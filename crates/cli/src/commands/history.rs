//! `history`: lists the versions of a release.

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::TABLE;
use crate::flag::{Flag, Kind, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Records, print_data};
use crate::output::grid;
use crate::output::history::{ExtraColumns, records, rows, versions_grid};
use crate::personality::Personality;

/// `history RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "history",
    aliases: &["hist"],
    operands_text: "RELEASE_NAME",
    short: "show the history of a release",
    long: "\
List the versions of a release, oldest first. At most the --max newest versions are shown.

With --show-rollback-revision, the table has a column with the version that a rollback went back to:

    {program} history web --show-rollback-revision

With `-o json` and `-o yaml`, versions that are rollbacks always have it, as `rollback_revision`.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[OWN, OUTPUT, TABLE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::of(names::MAX, Kind::Int, "256", "the maximum number of revisions to show"),
    Flag::switch(names::SHOW_ROLLBACK_REVISION, "show the version that each rollback went back to"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let max = usize::try_from(invocation.flags.int(names::MAX, invocation.environment)).unwrap_or(0);
    let name = invocation.operand(0).to_owned();
    let (session, namespace) = (&connection.session, &connection.namespace);
    let mut versions = match connection.try_run(pintle::ops::history(session, namespace, &name, max)) {
        // Helm skips unreadable records, even if all of them are.
        Err(pintle::Error::NoReadableVersion { .. }) if invocation.personality == Personality::Helm => {
            Vec::new()
        }
        versions => versions?,
    };
    if max == 0 {
        versions.clear();
    }
    // Helm's versions have no ids, and its output must have its columns.
    let ids =
        invocation.personality == Personality::Pintle && versions.iter().any(|version| version.id.is_some());
    let rollback = invocation.flags.on(names::SHOW_ROLLBACK_REVISION);
    match Format::from_flags(&invocation.flags) {
        Format::Table if grid::is_wanted(invocation) => {
            let table = versions_grid(&versions, ExtraColumns { rollback, id: ids });
            let summary = grid::counted(versions.len(), "version");
            grid::print(invocation, table, true, &summary)
        }
        Format::Table => invocation.ui.print(&rows(&versions, ExtraColumns { rollback, id: ids })),
        format => print_data(invocation.ui, format, &Records(&records(&versions, ids))),
    }
}
