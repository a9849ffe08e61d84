//! `post-render`: filters for rendered objects, which other programs can use too.

use pintle::hooks::Filter;

use super::images::rewrite::FILTER;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind};
use crate::flag::Flag;
use crate::invocation::Invocation;
use crate::read;

/// `post-render`
pub(crate) static COMMAND: Command = Command {
    name: "post-render",
    short: "filter rendered objects, as a post-renderer does",
    long: "\
Filters rendered objects: reads them from standard input and prints them, changed.

    helm template web ./web | {program} post-render hooks",
    subcommands: &[&HOOKS, &FILTER],
    ..Command::BLANK
};

/// `post-render hooks`
static HOOKS: Command = Command {
    name: "hooks",
    operands_text: "[version]",
    short: "split hooks of several events into hooks of one",
    long: "\
Reads rendered objects from standard input and prints them with every hook of several events split into one hook for
each, in annotations that Helm knows. So stock Helm runs a hook with another weight at each of its events:

    metadata:
      name: migrate
      annotations:
        helm.sh/hook: pre-install,post-upgrade
        helm.sh/hook-weights: pre-install=-5,post-upgrade=10

becomes `migrate-pre-install` with the weight -5, and `migrate-post-upgrade` with the weight 10. Containers of hooks
find both in $HELM_HOOK_EVENT and $HELM_HOOK_WEIGHT. What objects of one event refer to follows the new names. All other
bytes stay: comments, order, quotes.

helm.sh/hook-weight takes a list with a weight for each event, too. `helm.sh/hook-env: \"false\"` leaves variables out, and
`helm.sh/hook-name-suffix: \"false\"` keeps names.

Called by the name `helm-hooks`, the program does just this. With Helm 4 it is a plugin:

    helm install web ./web --post-renderer helm-hooks

Nothing is printed when anything is wrong. {program} itself needs no filter: it knows these annotations.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Nothing,
    flags: &[&[Flag::switch("version", "print the version").short('v')]],
    run: Some(run),
    ..Command::BLANK
};

/// The name by which the filter is a program of its own.
const NAME: &str = "helm-hooks";

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let word = invocation.operand(0);
    if word == "version" || invocation.flags.on("version") {
        return invocation.ui.print(&format!("{NAME} {}\n", env!("CARGO_PKG_VERSION")));
    }
    if !word.is_empty() {
        return Err(Failure::usage(format!(
            "unknown argument `{word}`: objects are read from standard input"
        ))
        .hint(format!("`{} --help` tells more", invocation.place.path)));
    }
    let text = read::standard_input()?;
    match Filter::read(&text) {
        Ok(filter) => Ok(filter.write_to(invocation.ui.out())?),
        // Helm shows what its post-renderer says as it is.
        Err(error) if invocation.place.path == NAME => {
            invocation.ui.note(&format!("{NAME}: {error}"));
            Err(Failure::new(FailureKind::AlreadyReported, error.to_string()))
        }
        Err(error) => Err(Failure::run_time(error.to_string())),
    }
}
