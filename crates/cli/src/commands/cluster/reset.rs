//! `cluster reset`: an empty cluster in the box again.

use std::path::PathBuf;

use pintle::embedded::Embedded;

use crate::command::{Command, OperandOffer, Operands};
use crate::failure::{Failure, reason};
use crate::invocation::Invocation;
use crate::{boxed, connect};

/// `cluster reset`
pub(crate) static COMMAND: Command = Command {
    name: "reset",
    short: "delete everything in an embedded cluster",
    long: "\
Deletes the file of a cluster in the box, so that the next command begins with an empty one. A file that is none, or
that another process uses, is left alone.

    {program} cluster reset --cluster embedded:web.db",
    operands: Operands::None,
    offer: OperandOffer::Nothing,
    run: Some(run),
    ..Command::BLANK
};

/// The cluster and its file; those in memory have nothing to look after.
pub(super) fn file_of(chosen: Option<Embedded>) -> Result<(Embedded, PathBuf), Failure> {
    let chosen = chosen.unwrap_or_default();
    match chosen.file.clone() {
        Some(file) => Ok((chosen, file)),
        None => Err(Failure::usage("no cluster in the box is named that is kept in a file")
            .hint("name it with --cluster embedded:FILE or PINTLE_CLUSTER")),
    }
}

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let chosen = boxed::chosen(&invocation.flags, invocation.environment)?;
    let (embedded, file) = file_of(chosen)?;
    if file.exists() {
        // Opening it proves that it is a store, and that nobody uses it.
        drop(connect::runtime()?.block_on(embedded.open())?);
        std::fs::remove_file(&file).map_err(|error| {
            Failure::run_time(format!("cannot delete `{}`: {}", file.display(), reason(&error)))
        })?;
    }
    invocation.ui.print(&format!("{} is empty\n", file.display()))
}
