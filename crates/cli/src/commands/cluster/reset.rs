//! `cluster reset`: delete all objects of an embedded cluster.

use std::path::PathBuf;

use pintle::embedded::Embedded;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, reason};
use crate::invocation::Invocation;
use crate::{connect, embedded};

/// `cluster reset`
pub(crate) static COMMAND: Command = Command {
    name: "reset",
    short: "delete everything in an embedded cluster",
    long: "\
Delete the file of an embedded cluster, so that the next command starts with an empty one. A file that is not a
cluster, or that is in use by another process, is not deleted.

    {program} cluster reset --cluster embedded:web.db",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

/// The cluster and its file. A cluster in memory ends with its command, so there is nothing to reset or to show.
pub(super) fn file_of(chosen: Option<Embedded>) -> Result<(Embedded, PathBuf), Failure> {
    let chosen = chosen.unwrap_or_default();
    match chosen.file.clone() {
        Some(file) => Ok((chosen, file)),
        None => Err(Failure::usage("no embedded cluster with a file is selected")
            .hint("select it with --cluster embedded:FILE or PINTLE_CLUSTER")),
    }
}

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let chosen = embedded::from_flags(&invocation.flags, invocation.environment)?;
    let (cluster, file) = file_of(chosen)?;
    let existed = file.exists();
    if existed {
        // Opening it verifies that it is a store and that no other process uses it.
        drop(connect::runtime()?.block_on(cluster.open())?);
        std::fs::remove_file(&file).map_err(|error| {
            Failure::run_time(format!("cannot delete `{}`: {}", file.display(), reason(&error)))
        })?;
    }
    let text = match existed {
        true => "was deleted; the next command that writes starts with an empty cluster",
        false => "does not exist; there is nothing to reset",
    };
    invocation.ui.print(&format!("{} {text}\n", file.display()))
}
