//! `diff rollback`: compares the newest revision of a release with an earlier one.

use pintle::release::VersionRef;

use super::{COMMON, OUTPUT, answer, check_operands, revision};
use crate::command::{ArgCompletion, Command};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `diff rollback RELEASE REVISION`
pub(crate) static COMMAND: Command = Command {
    name: "rollback",
    operands_text: "RELEASE REVISION",
    short: "show what a rollback would change",
    long: "\
Compare the newest manifest of a release with that of an earlier revision, to see what a rollback would change:

    {program} diff rollback web 2",
    completion: ArgCompletion::ReleaseAndVersion,
    flags: &[COMMON, OUTPUT],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    check_operands(invocation, &["release name", "revision number"])?;
    let (release, to) = (invocation.operand(0).to_owned(), revision::at(invocation.operand(1)));
    let has_changes = revision::compare(invocation, &release, &VersionRef::Current, &to)?;
    answer(invocation, has_changes)
}
