//! `pull`: fetches charts into a folder.

use std::fs;
use std::path::Path;

use pintle::repo::{Resolved, Resolver, pull};

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::Flag;
use crate::flag::groups::{CHART, DEVEL, REMOTE};
use crate::invocation::Invocation;
use crate::{path, remote};

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

The digest that the index declares is compared with what comes, and nothing is kept when it differs.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::RemoteChart,
    flags: &[DEVEL, OWN, CHART, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch("untar", "unpack the archive"),
    Flag::switch("prov", "fetch the provenance file too, without checking it"),
    Flag::text("untardir", "the folder to unpack into, inside of --destination").or("."),
    Flag::text("destination", "the folder to write to").short('d').or("."),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let getter = remote::getter(invocation, remote::TIMEOUT);
    for reference in invocation.flags.operands.clone() {
        let resolver = remote::resolver(invocation, &getter);
        let resolved = resolver.resolve(&remote::wanted(&invocation.flags, &reference))?;
        for line in &resolved.log {
            invocation.ui.log(line);
        }
        fetch(invocation, &resolver, &resolved, &reference)?;
    }
    Ok(())
}

fn fetch(
    invocation: &mut Invocation<'_>,
    resolver: &Resolver<'_>,
    resolved: &Resolved,
    reference: &str,
) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let destination = flags.text("destination").to_owned();
    let untar_to = flags.on("untar").then(|| match flags.text("untardir") {
        folder if folder.starts_with('/') => path::clean(folder),
        folder => path::join(&[&destination, folder]),
    });
    let scratch;
    let folder = match &untar_to {
        Some(_) => {
            scratch = tempfile::Builder::new().prefix("helm-").tempdir()?;
            scratch.path()
        }
        None => Path::new(&destination),
    };
    let (archive, _) = pull::pull(resolver, resolved, folder)?;
    if invocation.flags.on("prov") {
        match resolver.provenance(resolved) {
            Ok(text) => fs::write(format!("{}.prov", archive.display()), text)?,
            Err(error) => {
                invocation.ui.print(&format!("WARNING: Verification not found for {reference}: {error}\n"))?
            }
        }
    }
    if let Some(target) = untar_to {
        pull::expand(&archive, Path::new(&target))?;
    }
    Ok(())
}
