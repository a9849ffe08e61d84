//! `diff revision`: compares two revisions of a release.

use pintle::diff::Report;
use pintle::release::VersionRef;

use super::output::{Display, parse_options};
use super::{COMMON, OUTPUT, answer};
use crate::command::{ArgCompletion, Command};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `diff revision RELEASE REVISION1 [REVISION2]`
pub(crate) static COMMAND: Command = Command {
    name: "revision",
    operands_text: "RELEASE REVISION1 [REVISION2]",
    short: "show the differences between two revisions of a release",
    long: "\
Compare the manifests of two revisions of a release, or of one with the newest:

    {program} diff revision web 2
    {program} diff revision web 2 3",
    completion: ArgCompletion::ReleaseAndVersion,
    flags: &[COMMON, OUTPUT],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let operands = invocation.flags.operands.clone();
    match operands.as_slice() {
        [] | [_] => Err(Failure::usage(
            "Too few arguments to Command \"revision\".\nMinimum 2 arguments required: release name, revision",
        )
        .with_pintle_text("`diff revision` needs a release and a version of it")
        .hint("usage: pintle diff revision RELEASE REVISION1 [REVISION2]")),
        [release, revision] => {
            // helm-diff does not set the exit code here, with --detailed-exitcode or without.
            compare(invocation, release, &at(revision), &VersionRef::Current).map(drop)
        }
        [release, first, second] => {
            let (mut old, mut new) = (number(first), number(second));
            if old > new {
                std::mem::swap(&mut old, &mut new);
            }
            let has_changes = compare(invocation, release, &numbered(old), &numbered(new))?;
            answer(invocation, has_changes)
        }
        _ => Err(Failure::usage(
            "Too many arguments to Command \"revision\".\nMaximum 3 arguments allowed: release name, revision1, \
             revision2",
        )),
    }
}

/// The number of a revision; as in helm-diff, anything else is 0, the newest.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn numbered(number: u64) -> VersionRef {
    if number == 0 { VersionRef::Current } else { VersionRef::Number(number) }
}

/// The version that an operand names.
pub(super) fn at(text: &str) -> VersionRef {
    numbered(number(text))
}

/// Compares two versions of a release and prints the report. Returns whether there are differences.
pub(super) fn compare(
    invocation: &mut Invocation<'_>,
    release: &str,
    old: &VersionRef,
    new: &VersionRef,
) -> Result<bool, Failure> {
    let display = Display::from_flags(invocation)?;
    let connection = Connection::open(invocation)?;
    let read = |at| connection.run(pintle::ops::get(&connection.session, &connection.namespace, release, at));
    let (old, new) = (read(old)?, read(new)?);
    let parse = parse_options(invocation, &connection.namespace);
    let old = super::index(invocation, old.manifest.as_bytes(), &parse)?;
    let new = super::index(invocation, new.manifest.as_bytes(), &parse)?;
    let report = Report::new(old, new, &display.options).map_err(super::incomparable)?;
    display.print(invocation, &report)
}
