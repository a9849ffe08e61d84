//! `diff`: compares manifests, with the commands, flags and formats of the helm-diff plugin.
//!
//! Under the name `helm` this is what `helm diff` runs, unless a plugin of that name is installed.

mod local;
mod output;
mod release;
mod revision;
mod rollback;
mod upgrade;
mod version;

pub(crate) use output::TemplateEntry;

use pintle::diff::{Index, ParseOptions};
use pintle_tree::quote::quote;

use crate::command::{ArgCompletion, Command};
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion, Kind, names};
use crate::invocation::Invocation;
use crate::personality::Personality;

/// The version of helm-diff whose behavior is followed.
pub(crate) const HELM_DIFF: &str = "3.15.11";

/// `diff`
pub(crate) static COMMAND: Command = Command {
    name: "diff",
    operands_text: "[RELEASE] [CHART]",
    short: "show the differences between manifests",
    long: "\
Compare what is recorded with what a chart renders to, two revisions, two releases or two charts, as the helm-diff
plugin does. No other program is started and no plugin is needed:

    {program} diff upgrade web ./web -f values.yaml
    {program} diff revision web 2 3
    {program} diff local ./web-1.0 ./web-1.1

The environment variables of helm-diff are supported:

| Variable                       | Meaning                                                       |
|--------------------------------|---------------------------------------------------------------|
| $HELM_DIFF_COLOR               | true or false: use colored output, as --color                 |
| $HELM_DIFF_OUTPUT              | the output format, as --output                                |
| $HELM_DIFF_OUTPUT_CONTEXT      | lines of context of `diff upgrade`, as --context              |
| $HELM_DIFF_TPL                 | the file with the template of --output template               |
| $HELM_DIFF_THREE_WAY_MERGE     | true: compare with live objects, as --three-way-merge         |
| $HELM_DIFF_NORMALIZE_MANIFESTS | true: ignore differences of style, as --normalize-manifests   |
| $HELM_DIFF_USE_UPGRADE_DRY_RUN | true: render as `upgrade --dry-run=server` does               |
| $HELM_DIFF_IGNORE_UNKNOWN_FLAGS| true: accept and ignore the other flags of `upgrade`          |

Without a subcommand, `{program} diff RELEASE CHART` is the same as `{program} diff upgrade`.",
    completion: ArgCompletion::ReleaseAndChart,
    flags: upgrade::FLAGS,
    subcommands: &[
        &local::COMMAND,
        &release::COMMAND,
        &revision::COMMAND,
        &rollback::COMMAND,
        &upgrade::COMMAND,
        &version::COMMAND,
    ],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    if invocation.flags.operands.is_empty() && invocation.personality == Personality::Pintle {
        let text =
            crate::help::help(&invocation.command_path, invocation.personality, invocation.environment);
        return invocation.ui.print(&text);
    }
    invocation.ui.note("Command \"helm diff\" is deprecated, use \"helm diff upgrade\" instead");
    upgrade::run(invocation)
}

/// The flags of the output.
pub(crate) static OUTPUT: &[Flag] = &[
    Flag::switch(names::NO_COLOR, "disable colored output"),
    Flag::switch(names::COLOR, "use colored output, also if it does not go to a terminal ($HELM_DIFF_COLOR)"),
    Flag::switch(names::SUPPRESS_SECRETS, "do not show changes of Secrets").short('q'),
    Flag::switch(names::SHOW_SECRETS, "show the values of Secrets"),
    Flag::switch(names::SHOW_SECRETS_DECODED, "show the values of Secrets decoded"),
    Flag::array(names::SUPPRESS, "do not show changes of this kind; may be repeated"),
    Flag::of(names::CONTEXT, Kind::Int, "-1", "the number of equal lines around changes; all if negative")
        .short('C'),
    Flag::text(
        names::OUTPUT,
        "the format: diff, simple, template, json, structured or dyff ($HELM_DIFF_OUTPUT)",
    )
    .or("diff")
    .completes(FlagCompletion::Words(&["diff", "simple", "template", "json", "structured", "dyff"])),
    Flag::switch(names::STRIP_TRAILING_CR, "ignore carriage returns at the ends of lines"),
    Flag::of(
        names::FIND_RENAMES,
        Kind::Float32,
        "0",
        "show objects as renamed if at most this fraction of their lines differs",
    )
    .short('D'),
    Flag::array(
        names::SUPPRESS_OUTPUT_LINE_REGEX,
        "do not show lines that match this regular expression; may be repeated",
    ),
];

/// The flags that all commands but `diff version` have.
pub(crate) static COMMON: &[Flag] = &[
    Flag::switch(names::DETAILED_EXITCODE, "exit with 2 if there are differences"),
    Flag::switch(names::INCLUDE_TESTS, "include test hooks"),
    Flag::switch(names::NORMALIZE_MANIFESTS, "ignore differences of style in YAML"),
];

/// Checks the number of operands, with helm-diff's text.
fn check_operands(invocation: &Invocation<'_>, names: &[&str]) -> Result<(), Failure> {
    if invocation.flags.operands.len() == names.len() {
        return Ok(());
    }
    let plural = if names.len() == 1 { "argument" } else { "arguments" };
    let usage = invocation.command_path.usage_line();
    Err(Failure::usage(format!("This command needs {} {plural}: {}", names.len(), names.join(", ")))
        .hint(format!("usage: {usage}")))
}

/// The namespace that helm-diff gets: the flag or the variable, and nothing from the kubeconfig.
fn given_namespace(invocation: &Invocation<'_>) -> String {
    invocation.flags.text_or_setting(names::NAMESPACE, invocation.environment)
}

/// The failure of `--detailed-exitcode`, if there are differences.
fn answer(invocation: &Invocation<'_>, has_changes: bool) -> Result<(), Failure> {
    if !has_changes || !invocation.flags.on(names::DETAILED_EXITCODE) {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Changes,
        "identified at least one change, exiting with non-zero exit code (detailed-exitcode parameter enabled)",
    ))
}

/// Says which chart could not be rendered.
fn unrendered(failure: Failure, chart: &str) -> Failure {
    failure.during(&format!("failed to render chart {}", quote(chart.as_bytes())))
}

/// Splits a manifest, and says which objects it has twice.
fn index<'m>(
    invocation: &mut Invocation<'_>,
    manifest: &'m [u8],
    options: &ParseOptions,
) -> Result<Index<'m>, Failure> {
    index_after(invocation, manifest, options, &Index::default())
}

/// As [`index`], of a manifest that has much in common with another one.
fn index_after<'m>(
    invocation: &mut Invocation<'_>,
    manifest: &'m [u8],
    options: &ParseOptions,
    other: &Index<'_>,
) -> Result<Index<'m>, Failure> {
    let index = Index::parse_beside(manifest, options, other).map_err(incomparable)?;
    for key in &index.duplicates {
        invocation.ui.note(&format!("Error: Found duplicate key {} in manifest", quote(key.as_bytes())));
    }
    Ok(index)
}

/// The failure of a comparison.
fn incomparable(error: pintle::diff::Error) -> Failure {
    Failure::run_time(error.to_string())
}
