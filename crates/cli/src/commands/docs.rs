//! `docs`: READMEs of charts; with `--type`, reference pages of all commands. Under Helm's name only the latter.

mod chart;
mod reference;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;

/// `docs`
pub(crate) static COMMAND: Command = Command {
    name: "docs",
    operands_text: "[CHART...]",
    short: "write READMEs of charts from the comments in their values",
    long: "\
Write README.md of charts: what Chart.yaml says, and a table of all values with their types, defaults and the comments
above them. Comments, templates and output are those of helm-docs.

    # values.yaml
    # -- Number of pods
    replicaCount: 1
    image:
      # -- (string) Tag of the image
      # @default -- the version of the chart
      tag:

    {program} docs ./web

Without operands, all charts below the current directory are documented. A chart with a file README.md.gotmpl has its own
layout. With --check, nothing is written, and the command fails if a README is not up to date. Every flag can also be set
in the environment, as in HELM_DOCS_SORT_VALUES_ORDER=file.

With --type or --dir, write a page for each command into a directory instead, as Markdown or as manual pages, or the
completion script of bash:

    {program} docs --type man --dir man1",
    completion: ArgCompletion::Chart,
    flags: &[chart::FLAGS, REFERENCE_FLAGS],
    exclusive: &[&["check", "dry-run"]],
    run: Some(run),
    as_helm: Some(&AS_HELM),
    ..Command::BLANK
};

/// `docs` under Helm's name.
static AS_HELM: Command = Command {
    name: "docs",
    short: "write reference documentation for all commands",
    long: "\
Write a page for each command into an existing directory, as Markdown or as manual pages.

    {program} docs --type man --dir man1

With --type bash, write the completion script for bash.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[REFERENCE_FLAGS],
    hidden: true,
    run: Some(reference::run),
    ..Command::BLANK
};

static REFERENCE_FLAGS: &[Flag] = &[
    Flag::text(names::DIR, "the directory to write to").or("./"),
    Flag::text(names::TYPE, "what to write: markdown, man or bash")
        .or("markdown")
        .completes(FlagCompletion::Words(&["bash", "man", "markdown"])),
    Flag::switch(names::GENERATE_HEADERS, "start Markdown pages with a front matter that has the title"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    if !REFERENCE_FLAGS.iter().any(|flag| flags.is_given(flag.name)) {
        return chart::run(invocation);
    }
    match flags.operands.first() {
        Some(chart) => Err(Failure::usage(format!(
            "--type, --dir and --generate-headers are not for charts (`{chart}`)"
        ))),
        None => reference::run(invocation),
    }
}
