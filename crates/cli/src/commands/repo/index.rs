//! `repo index`: generates the index of a repository.

use std::path::PathBuf;

use pintle::chart::metadata::Timestamp;
use pintle::ops::{IndexRequest, index_directory};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::{chart_reference, clock};

/// `repo index DIR`
pub(super) static COMMAND: Command = Command {
    name: "index",
    operands_text: "[DIR]",
    short: "generate the index of a directory of chart archives",
    long: "\
Generate index.yaml for the chart archives in a directory and its direct subdirectories.

With --merge, the charts of another index are added, except for those that are in the directory.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::FirstFile,
    flags: &[&[
        Flag::text(names::URL, "where the archives will be"),
        Flag::text(names::MERGE, "an index whose charts are listed too"),
        Flag::switch(names::JSON, "write JSON, into the same file"),
    ]],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let request = IndexRequest {
        folder: chart_reference::absolute(invocation.operand(0)),
        url: flags.text(names::URL).to_owned(),
        merge: Some(flags.text(names::MERGE)).filter(|path| !path.is_empty()).map(PathBuf::from),
        json: flags.on(names::JSON),
        now: now(invocation),
    };
    Ok(run_offline(index_directory(&request, &mut Reporting::new(invocation.ui)))?)
}

/// The time of the index; `SOURCE_DATE_EPOCH` makes it reproducible. Helm does not read it here, so a bad one is no error.
fn now(invocation: &Invocation<'_>) -> Timestamp {
    match invocation.environment.source_date_epoch().unwrap_or_default() {
        Some(seconds) => Timestamp::from_unix(seconds, 0),
        None => clock::timestamp(),
    }
}
