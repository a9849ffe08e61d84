//! `uninstall`: deletes a release from the cluster.

use pintle::cluster::PropagationPolicy;
use pintle::ops::UninstallRequest;

use super::request::warn_if_managed;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::names;
use crate::flag::operations::UNINSTALL_GROUPS;
use crate::invocation::Invocation;
use crate::report::ClusterReporter;
use crate::request;

/// `uninstall RELEASE_NAME [...]`
pub(crate) static COMMAND: Command = Command {
    name: "uninstall",
    aliases: &["del", "delete", "un"],
    operands_text: "RELEASE_NAME [...]",
    short: "uninstall a release",
    long: "\
Delete the objects of one or more releases and their records.

Objects with the annotation `helm.sh/resource-policy: keep` are kept and listed. With --keep-history the records are
kept too, so that `{program} rollback` can restore the release.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Releases,
    flags: &UNINSTALL_GROUPS,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let cascade = cascade(invocation.flags.text(names::CASCADE))?;
    let deploy = request::deploy_options(invocation)?;
    let connection = Connection::open(invocation)?;
    connection.cancel_on_signals(None);
    for name in invocation.flags.operands.clone() {
        let request = UninstallRequest {
            name: name.clone(),
            namespace: connection.namespace.clone(),
            keep_history: invocation.flags.on(names::KEEP_HISTORY),
            ignore_not_found: invocation.flags.on(names::IGNORE_NOT_FOUND),
            cascade,
            description: invocation.flags.text(names::DESCRIPTION).to_owned(),
            deploy: deploy.clone(),
            dry_run: invocation.flags.on(names::DRY_RUN),
            ..UninstallRequest::default()
        };
        let uninstalled = {
            let mut reporter = ClusterReporter::new(invocation.ui, false);
            connection.run(pintle::ops::uninstall(&connection.session, &request, &mut reporter))?
        };
        if let Some(uninstalled) = uninstalled.as_ref().filter(|_| !request.dry_run) {
            warn_if_managed(invocation, &uninstalled.version.labels, "install it again");
        }
        if let Some(uninstalled) = uninstalled.filter(|uninstalled| !uninstalled.kept.is_empty()) {
            invocation.ui.print(&format!("{}\n", uninstalled.kept))?;
        }
        invocation.ui.print(&format!("release \"{name}\" uninstalled\n"))?;
    }
    Ok(())
}

pub(super) fn cascade(word: &str) -> Result<PropagationPolicy, Failure> {
    match word {
        "background" => Ok(PropagationPolicy::Background),
        "foreground" => Ok(PropagationPolicy::Foreground),
        "orphan" => Ok(PropagationPolicy::Orphan),
        other => Err(Failure::usage(format!(
            "invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\""
        ))),
    }
}
