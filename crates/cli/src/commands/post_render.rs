//! `post-render`: filters for rendered objects, also for use with other programs.

use pintle::hooks::Filter;

use super::images::rewrite::FILTER;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::read;

/// `post-render`
pub(crate) static COMMAND: Command = Command {
    name: "post-render",
    short: "filter rendered objects, as a post-renderer does",
    long: "\
Filter rendered objects: read them from standard input and print them, changed.

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
Read rendered objects from standard input and print them with every hook of several events split into one hook per
event, with annotations that Helm supports. This lets stock Helm run a hook with a different weight for each event:

    metadata:
      name: migrate
      annotations:
        helm.sh/hook: pre-install,post-upgrade
        helm.sh/hook-weights: pre-install=-5,post-upgrade=10

becomes `migrate-pre-install` with the weight -5, and `migrate-post-upgrade` with the weight 10. Containers of hooks
get both in $HELM_HOOK_EVENT and $HELM_HOOK_WEIGHT. References between objects of one event follow the new names. All
other bytes are kept: comments, order, quotes.

helm.sh/hook-weight also accepts a list with a weight for each event. `helm.sh/hook-env: \"false\"` omits the variables,
and `helm.sh/hook-name-suffix: \"false\"` keeps the names.

When called as `helm-hooks`, the program does only this. With Helm 4 it is a plugin:

    helm install web ./web --post-renderer helm-hooks

Nothing is printed if there is an error. {program} itself does not need the filter: it supports these annotations.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Nothing,
    flags: &[&[Flag::switch(names::VERSION_SWITCH, "print the version").short('v')]],
    run: Some(run),
    ..Command::BLANK
};

/// The name of the entry point of the filter.
const NAME: &str = "helm-hooks";

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let word = invocation.operand(0);
    if word == "version" || invocation.flags.on(names::VERSION_SWITCH) {
        return invocation.ui.print(&format!("{NAME} {}\n", env!("CARGO_PKG_VERSION")));
    }
    if !word.is_empty() {
        return Err(Failure::usage(format!(
            "unknown argument `{word}`: objects are read from standard input"
        ))
        .hint(format!("`{} --help` shows the usage", invocation.command_path.path)));
    }
    let text = read::standard_input()?;
    match Filter::read(&text) {
        Ok(filter) => Ok(filter.write_to(invocation.ui.out())?),
        // Helm prints the standard error of its post-renderer verbatim.
        Err(error) if invocation.command_path.path == NAME => {
            invocation.ui.note(&format!("{NAME}: {error}"));
            Err(Failure::new(FailureKind::AlreadyReported, error.to_string()))
        }
        Err(error) => Err(Failure::run_time(error.to_string())),
    }
}
