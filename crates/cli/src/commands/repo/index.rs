//! `repo index`: generates the index of a repository.

use std::io::ErrorKind;
use std::path::PathBuf;

use pintle::chart::metadata::Timestamp;
use pintle::repo::index::{IndexDocument, index_directory};

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
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
    let folder = PathBuf::from(chart_reference::absolute(invocation.operand(0)));
    let json = invocation.flags.on(names::JSON);
    let now = now(invocation);
    let mut index = index_directory(&folder, invocation.flags.text(names::URL), now)?;
    let merge = invocation.flags.text(names::MERGE).to_owned();
    if !merge.is_empty() {
        let path = PathBuf::from(&merge);
        let is_missing = path.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let other = if !is_missing {
            let (other, skipped) =
                IndexDocument::load(&path).map_err(|error| error.within("merge failed"))?;
            for skipped in skipped {
                invocation.ui.log(&skipped.log_line(&merge));
            }
            other
        } else {
            let empty = IndexDocument { generated: now, ..IndexDocument::default() };
            // Helm ignores errors when it writes this file.
            let _ = empty.write(&path, json);
            empty
        };
        for line in index.merge(other) {
            invocation.ui.log(&line);
        }
    }
    index.sort();
    Ok(index.write(&folder.join("index.yaml"), json)?)
}

/// The time of the index; `SOURCE_DATE_EPOCH` makes it reproducible. Helm does not read it here, so a bad one is no error.
fn now(invocation: &Invocation<'_>) -> Timestamp {
    match invocation.environment.source_date_epoch().unwrap_or_default() {
        Some(seconds) => Timestamp::from_unix(seconds, 0),
        None => clock::timestamp(),
    }
}
