//! `pull`: fetches charts into a folder.

use pintle::ops::{PullRequest, PulledArchive, pull_chart};

use crate::chart_reference::{debug_devel, of_query};
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::groups::{CHART, COSIGN, DEVEL, REMOTE};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::{cosign, path, provenance, remote};

/// `pull CHART…`
pub(crate) static COMMAND: Command = Command {
    name: "pull",
    aliases: &["fetch"],
    operands_text: "[chart URL | repo/chartname] [...]",
    short: "fetch a chart, and unpack it if wanted",
    long: "\
Fetches the archive of a chart into the current folder, or into another (-d).

    {program} pull bitnami/nginx --version ^18.0.0
    {program} pull nginx --repo https://charts.bitnami.com/bitnami --untar
    {program} pull oci://registry.example.com/charts/web:1.2.3

The digest that the index or the registry declares is compared with what comes, and nothing is kept when it differs.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::RemoteChart,
    flags: &[DEVEL, OWN, CHART, COSIGN, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::UNTAR, "unpack the archive"),
    Flag::switch(names::PROV, "fetch the provenance file too, without checking it"),
    Flag::text(names::UNTARDIR, "the folder to unpack into, inside of --destination").or("."),
    Flag::text(names::DESTINATION, "the folder to write to").short('d').or("."),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    debug_devel(invocation);
    let flags = &invocation.flags;
    let destination = flags.text(names::DESTINATION).to_owned();
    let unpack = flags.on(names::UNTAR).then(|| match flags.text(names::UNTARDIR) {
        folder if folder.starts_with('/') => path::clean(folder).into(),
        folder => path::join(&[&destination, folder]).into(),
    });
    for reference in flags.operands.clone() {
        let request = PullRequest {
            chart: of_query(invocation, remote::wanted(&invocation.flags, &reference))?,
            folder: destination.clone().into(),
            unpack: unpack.clone(),
            provenance: invocation.flags.on(names::PROV),
        };
        let pulled = run_offline(pull_chart(&request, &mut Reporting::new(invocation.ui)))?;
        invocation.ui.print(&text(&pulled))?;
    }
    Ok(())
}

/// What is said about the signatures of a chart.
fn text(pulled: &PulledArchive) -> String {
    let mut text = pulled.cosign.as_ref().map(cosign::words).unwrap_or_default();
    if let Some((chart, error)) = &pulled.no_provenance {
        text.push_str(&format!("WARNING: Verification not found for {chart}: {error}\n"));
    }
    if let Some(verified) = &pulled.verified {
        text.push_str(&provenance::words(verified));
    }
    text
}
