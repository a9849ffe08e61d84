//! `uninstall`: deletes a release from the cluster.

use pintle::cluster::PropagationPolicy;
use pintle::objects::ObjectId;
use pintle::ops::{KeptObjects, UninstallRequest};

use super::request::warn_if_managed;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::names;
use crate::flag::operations::UNINSTALL_GROUPS;
use crate::invocation::Invocation;
use crate::personality::Personality;
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

Objects with the annotation `helm.sh/resource-policy: keep` are kept and listed. So are objects that the release does not
own any more, because another release has taken them over or because somebody has removed the label
`app.kubernetes.io/managed-by` or the annotations `meta.helm.sh/release-name` and `meta.helm.sh/release-namespace`; and
objects that cannot be read, because their owner is unknown. With --keep-history the records are
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
            let mut reporter = ClusterReporter::new(invocation.ui, false).without_kept();
            connection.run(pintle::ops::uninstall(&connection.session, &request, &mut reporter))?
        };
        if let Some(uninstalled) = uninstalled.as_ref().filter(|_| !request.dry_run) {
            warn_if_managed(invocation, &uninstalled.version.labels, "install it again");
        }
        if let Some(mut uninstalled) = uninstalled {
            if request.dry_run && invocation.personality == Personality::Helm {
                // Helm's dry run only warns about the others.
                uninstalled.kept =
                    KeptObjects { by_policy: uninstalled.kept.by_policy, ..KeptObjects::default() };
            }
            print_kept(invocation, &uninstalled.kept)?;
        }
        invocation.ui.print(&format!("release \"{name}\" uninstalled\n"))?;
    }
    Ok(())
}

/// Prints the objects that an uninstall has not deleted, by reason.
pub(super) fn print_kept(invocation: &mut Invocation<'_>, kept: &KeptObjects) -> Result<(), Failure> {
    if kept.is_empty() {
        return Ok(());
    }
    let text = match invocation.personality {
        Personality::Helm => kept.helm_message(),
        Personality::Pintle => kept_message(kept),
    };
    invocation.ui.print(&format!("{text}\n"))
}

/// The kept objects in our words: each with its namespace, and with its owner or the error.
fn kept_message(kept: &KeptObjects) -> String {
    let named = |id: &ObjectId| match id.namespace.as_str() {
        "" => format!("{} {}", id.kind, id.name),
        namespace => format!("{} {namespace}/{}", id.kind, id.name),
    };
    let by_policy = kept.by_policy.iter().map(|kept| format!("{} {}", kept.kind, kept.name));
    let not_owned = kept.not_owned.iter().map(|object| match &object.owner {
        Some((release, namespace)) => {
            format!("{} (of release {release} in namespace {namespace})", named(&object.id))
        }
        None => format!("{} (of no release)", named(&object.id)),
    });
    let not_verified =
        kept.not_verified.iter().map(|object| format!("{}: {}", named(&object.id), object.reason));
    let block = |heading: &str, lines: Vec<String>| {
        let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        (!lines.is_empty()).then(|| format!("{heading}\n{lines}"))
    };
    [
        block("kept because of their resource policy:", by_policy.collect()),
        block("kept because the release does not own them:", not_owned.collect()),
        block("kept because their owner could not be verified:", not_verified.collect()),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<String>>()
    .join("\n")
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
