//! `apply`: applies a saved plan.

use pintle::ops::Operation;

use super::install::show;
use super::plan::{PLAN_KEY, file};
use super::uninstall::print_kept;
use crate::command::{Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::{LEASE, NOTES, OUTPUT};
use crate::flag::groups::RECORDS;
use crate::flag::{Flag, Kind, names};
use crate::invocation::Invocation;
use crate::output::format::Format;
use crate::report::ClusterReporter;
use crate::scripts::SCRIPTS;

/// `apply FILE`
pub(crate) static COMMAND: Command = Command {
    name: "apply",
    operands_text: "FILE",
    short: "apply a saved plan",
    long: "\
Apply a plan that was saved with `{program} plan … --save FILE`: what was rendered then, and nothing else. Chart and values
are not needed any more.

    {program} plan upgrade web ./web -f values.yaml --save web.plan
    {program} apply web.plan

Before anything is applied, the plan is made again and compared. If the release or one of its objects has changed since, if
the plan has expired, or if this is another cluster, nothing is applied, and the exit code is 3.",
    operands: Operands::Exactly(1),
    flags: &[OWN, PLAN_KEY, OUTPUT, NOTES, SCRIPTS, RECORDS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::of(
        names::PLAN_LIFETIME,
        Kind::Duration,
        "0s",
        "refuse plans that are older than this; 0s for the lifetime of the plan",
    ),
    LEASE,
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let mut saved = file::read(invocation, invocation.operand(0))?;
    let lifetime = file::lifetime(invocation)?;
    if lifetime > 0 {
        saved.expires = saved.created.plus_seconds(lifetime);
    }
    let connection = Connection::open_or_create(invocation, pintle::DryRun::None)?;
    let data = Format::from_flags(&invocation.flags).is_data();
    invocation.ui.flush()?;
    connection.cancel_on_signals(Some(format!("Release {} has been cancelled.", saved.plan.release)));
    let applied = {
        let mut reporter = ClusterReporter::new(invocation.ui, data).without_kept();
        connection.run(pintle::ops::apply_plan(&connection.session, &saved, &mut reporter))?
    };
    if applied.operation != Operation::Uninstall {
        return show(invocation, &applied.version);
    }
    print_kept(invocation, &applied.kept)?;
    invocation.ui.print(&format!("release \"{}\" uninstalled\n", applied.version.name))
}
