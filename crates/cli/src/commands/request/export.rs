//! `request export`: generates a HelmRequest for an existing release or a HelmRelease of Flux.

use pintle_controller::export::{
    ClusterExportError, ExportError, Exported, GivenSource, flux_in_text, flux_on_cluster, release_on_cluster,
};
use pintle_tree::json;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::{Failure, reason};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::format::yaml;
use crate::read;

/// The size limit of a file.
const FILE_LIMIT: u64 = 16 << 20;

/// `request export [NAME]`
pub(super) static COMMAND: Command = Command {
    name: "export",
    operands_text: "[NAME]",
    short: "write a HelmRequest for a release, or for a HelmRelease of Flux",
    long: "\
Write a HelmRequest, as YAML, that adopts an existing release: with its chart and its values, so that the controller takes it
over without a change. With --flux, NAME is a HelmRelease of Flux, which is read together with its source; --file reads both
from a file (`-` for standard input) instead of the cluster.

    {program} request export web | kubectl apply -f -
    {program} request export --flux --file helmrelease.yaml

The chart has the source that the record of the release keeps, or that the HelmRelease refers to. Where neither is known, as for
a chart that was installed from a folder, --chart and --repo name it. What else cannot be converted is reported on standard
error.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Release,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::FLUX, "convert a HelmRelease of Flux"),
    Flag::text(names::FILE, "with --flux, a file with the HelmRelease and its source")
        .completes(FlagCompletion::Files),
    Flag::text(names::CHART, "where the chart is: its URL, or its name in --repo"),
    Flag::text(names::REPO, "the URL of the repository of the chart"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let (flux, file) = (invocation.flags.on(names::FLUX), invocation.flags.text(names::FILE).to_owned());
    let name = invocation.flags.operands.first().cloned();
    let given = GivenSource {
        chart: invocation.flags.text(names::CHART).to_owned(),
        repository: invocation.flags.text(names::REPO).to_owned(),
    };
    let exported = match (flux, file.as_str(), name) {
        (_, "", Some(name)) => {
            let connection = Connection::open(invocation)?;
            let (session, namespace) = (&connection.session, connection.namespace.as_str());
            let exported = match flux {
                true => connection.try_run(flux_on_cluster(&session.cluster, namespace, &name, &given)),
                false => connection.try_run(release_on_cluster(session, namespace, &name, &given)),
            };
            vec![exported.map_err(|error| match error {
                ClusterExportError::Read(error) => (*error).into(),
                ClusterExportError::Export(error) => refused(error),
            })?]
        }
        (true, file, None) if !file.is_empty() => flux_from_file(file, &given)?,
        (false, file, _) if !file.is_empty() => {
            return Err(Failure::usage("--file is for --flux"));
        }
        _ => return Err(Failure::usage("name a release, or use --flux with a name or --file")),
    };
    let mut text = String::new();
    for Exported { request, notes } in exported {
        for note in notes {
            invocation.ui.warn(&note);
        }
        let tree = json::read_map(request.to_string().as_bytes())
            .map_err(|error| Failure::run_time(error.to_string()))?;
        if !text.is_empty() {
            text.push_str("---\n");
        }
        text.push_str(&String::from_utf8_lossy(&yaml(&tree)?));
    }
    invocation.ui.print(&text)
}

/// The HelmReleases of a file, with the sources of the same file.
fn flux_from_file(file: &str, given: &GivenSource) -> Result<Vec<Exported>, Failure> {
    let text = match file {
        "-" => read::standard_input(),
        file => read::file(file, FILE_LIMIT),
    };
    let text = text.map_err(|error| Failure::usage(format!("cannot read {file}: {}", reason(&error))))?;
    flux_in_text(&text, file, given).map_err(refused)
}

fn refused(error: ExportError) -> Failure {
    match error {
        ExportError::SeveralReleases { text, count } => {
            Failure::usage(format!("{text} has {count} HelmReleases, and --chart and --repo are for one"))
        }
        ExportError::NoHelmRelease { .. } => Failure::run_time(error.to_string()),
        ExportError::UnknownSource(_) => Failure::usage(error.to_string())
            .hint("name it with --chart URL, or with --repo URL if it is in a repository"),
        error => Failure::usage(error.to_string()),
    }
}
