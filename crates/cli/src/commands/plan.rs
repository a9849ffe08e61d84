//! `plan`: shows what an operation would do.

pub(super) mod file;
mod output;
mod releases;

use pintle::ops::{
    InstallRequest, PlanRequest, Planned, ReleasePlan, RollbackRequest, UninstallRequest, UpgradeRequest,
};
use pintle::{DryRun, Method};
use pintle_tree::quote::quote;

use super::install::{name_for, request_of, with_dependencies};
use super::{uninstall, upgrade};
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::{Failure, FailureKind};
use crate::flag::deploy::EXCLUSIVE;
use crate::flag::operations::{INSTALL_GROUPS, ROLLBACK_GROUPS, UNINSTALL_GROUPS, UPGRADE_GROUPS, join};
use crate::flag::{Flag, FlagCompletion, Kind, names};
use crate::invocation::Invocation;
use crate::report::ClusterReporter;
use crate::request;
use output::{Format, print};

/// `plan`
pub(crate) static COMMAND: Command = Command {
    name: "plan",
    short: "show what an operation would do",
    long: "\
Show what an install, upgrade, rollback or uninstall would do, without doing it: the objects it would create, change,
adopt and delete, those it would keep, the CRDs, and the hooks in the order in which they would run.

    {program} plan upgrade web ./web -f values.yaml

The steps are those of the operation itself, and the server tries each of them in a dry run, custom resources included.
So defaults and admission webhooks are taken into account, and conflicts with other field managers and changes of
immutable fields are found. Values of Secrets are not shown.

With --save the plan is written to a file, which `{program} apply` applies later if nothing has changed until then. The
file is encrypted: what it contains can be read only with the key of --plan-key.

The exit code is 0 if no object would change, 2 if some would, and 1 on errors and if the operation would fail.",
    subcommands: &[&INSTALL_COMMAND, &releases::COMMAND, &ROLLBACK_COMMAND, &SHOW_COMMAND, &UNINSTALL_COMMAND, &UPGRADE_COMMAND],
    ..Command::BLANK
};

/// Flags of commands that make a plan.
static SAVE: &[Flag] = &[
    Flag::text(names::SAVE, "write the plan to a file, for apply"),
    Flag::of(names::PLAN_LIFETIME, Kind::Duration, "2h0m0s", "how long the saved plan can be applied"),
];

/// The flag of commands that read or write plan files.
pub(super) static PLAN_KEY: &[Flag] = &[Flag::text(
    names::PLAN_KEY,
    "a file with the key of saved plans; by default $PINTLE_PLAN_KEY_FILE, or a key of your own that is created on first use",
)];

static PLAN: &[Flag] = &[
    Flag::text(names::OUTPUT, "the format: text, json, markdown or dot")
        .short('o')
        .or("text")
        .completes(FlagCompletion::Words(&["text", "json", "markdown", "dot"])),
    Flag::of(names::CONTEXT, Kind::Int, "3", "the number of equal lines around changes; all if negative")
        .short('C'),
    Flag::array(
        names::SENSITIVE_PATH,
        "a path whose values are not shown, such as spec.env[*].value; may be repeated",
    ),
    Flag::switch(
        names::SHOW_INSIGNIFICANT,
        "also show changes of the status and of bookkeeping, such as metadata.generation and managedFields",
    ),
    Flag::switch(names::SHOW_UNCHANGED, "list objects that do not change"),
    Flag::switch(names::NO_DETAILED_EXITCODE, "exit with 0 if objects would change"),
];

static INSTALL_COMMAND: Command = Command {
    name: "install",
    operands_text: "[NAME] [CHART]",
    short: "show what an install would do",
    long: "Show what `{program} install` would do with the same arguments.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NameAndChart,
    flags: &join::<19>(&[&INSTALL_GROUPS, &[PLAN, SAVE, PLAN_KEY]]),
    exclusive: EXCLUSIVE,
    answers_by_exit_code: true,
    run: Some(plan_install),
    ..Command::BLANK
};

static UPGRADE_COMMAND: Command = Command {
    name: "upgrade",
    operands_text: "[RELEASE] [CHART]",
    short: "show what an upgrade would do",
    long: "\
Show what `{program} upgrade` would do with the same arguments. With --install, a release that does not exist is planned
as an install.",
    operands: Operands::Exactly(2),
    completion: ArgCompletion::ReleaseAndChart,
    flags: &join::<19>(&[&UPGRADE_GROUPS, &[PLAN, SAVE, PLAN_KEY]]),
    exclusive: EXCLUSIVE,
    answers_by_exit_code: true,
    run: Some(plan_upgrade),
    ..Command::BLANK
};

static ROLLBACK_COMMAND: Command = Command {
    name: "rollback",
    operands_text: "RELEASE [REVISION]",
    short: "show what a rollback would do",
    long: "Show what `{program} rollback` would do with the same arguments.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::ReleaseAndVersion,
    flags: &join::<8>(&[&ROLLBACK_GROUPS, &[PLAN, SAVE, PLAN_KEY]]),
    exclusive: EXCLUSIVE,
    answers_by_exit_code: true,
    run: Some(plan_rollback),
    ..Command::BLANK
};

static UNINSTALL_COMMAND: Command = Command {
    name: "uninstall",
    operands_text: "RELEASE",
    short: "show what an uninstall would do",
    long: "Show what `{program} uninstall` would do with the same arguments.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &join::<7>(&[&UNINSTALL_GROUPS, &[PLAN, SAVE, PLAN_KEY]]),
    answers_by_exit_code: true,
    run: Some(plan_uninstall),
    ..Command::BLANK
};

static SHOW_COMMAND: Command = Command {
    name: "show",
    operands_text: "FILE",
    short: "show a saved plan",
    long: "Show a plan that was saved with --save. Nothing is asked from the cluster.",
    operands: Operands::Exactly(1),
    flags: &[PLAN, PLAN_KEY],
    answers_by_exit_code: true,
    run: Some(show_saved),
    ..Command::BLANK
};

fn plan_install(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let deploy = request::deploy_options(invocation)?;
    let (name, reference) =
        request::name_and_chart(&invocation.flags, |chart| name_for(chart, &invocation.flags))?;
    let request = InstallRequest {
        name,
        replace: invocation.flags.on(names::REPLACE),
        method: if invocation.flags.on(names::SERVER_SIDE_SWITCH) {
            Method::ServerSide
        } else {
            Method::ClientSide
        },
        ..request_of(invocation, &reference, DryRun::None, deploy)?
    };
    let connection = Connection::open_or_create(invocation, DryRun::Server)?;
    let target = request.clone();
    let request = PlanRequest::Install(Box::new(request));
    let planned = with_dependencies(invocation, &target, |invocation| {
        let mut reporter = ClusterReporter::new(invocation.ui, true);
        connection.try_run(pintle::ops::plan(&connection.session, &request, &mut reporter))
    })?;
    finish(invocation, &connection, &request, planned, format)
}

fn plan_upgrade(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let deploy = request::deploy_options(invocation)?;
    let reference = invocation.operand(1).to_owned();
    let target = InstallRequest {
        name: invocation.operand(0).to_owned(),
        ..request_of(invocation, &reference, DryRun::None, deploy)?
    };
    let request = UpgradeRequest {
        method: request::method_choice(&invocation.flags)?,
        values_policy: upgrade::values_policy(&invocation.flags),
        install: invocation.flags.on(names::INSTALL),
        cleanup_on_fail: invocation.flags.on(names::CLEANUP_ON_FAIL),
        max_history: request::max_history(invocation),
        target: target.clone(),
    };
    let connection = Connection::open_or_create(invocation, DryRun::Server)?;
    let request = PlanRequest::Upgrade(Box::new(request));
    let planned = with_dependencies(invocation, &target, |invocation| {
        let mut reporter = ClusterReporter::new(invocation.ui, true);
        connection.try_run(pintle::ops::plan(&connection.session, &request, &mut reporter))
    })?;
    if format == Format::Text && planned.plan.from.is_some() {
        hint_at_check(invocation, &connection, &reference);
    }
    finish(invocation, &connection, &request, planned, format)
}

/// Says how to see what another version of the chart means for values. What cannot be read is no matter here.
fn hint_at_check(invocation: &mut Invocation<'_>, connection: &Connection, reference: &str) {
    let name = invocation.operand(0).to_owned();
    let at = pintle::release::VersionRef::Current;
    let current = pintle::ops::get(&connection.session, &connection.namespace, &name, &at);
    let (Ok(current), Some(path)) = (connection.run(current), invocation.chart_path.clone()) else { return };
    let Ok(new) = pintle::chart::load(&path, &mut Vec::new()) else { return };
    let (before, after) = (&current.chart.metadata.version, &new.metadata.version);
    if current.chart.metadata.name == new.metadata.name && before != after {
        invocation.ui.note(&format!(
            "info: the chart goes from {before} to {after}; `pintle upgrade-check {name} {reference}` shows what that means \
             for your values"
        ));
    }
}

fn plan_rollback(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let to = invocation.flags.operands.get(1).map(String::as_str);
    let to = request::rollback_target(invocation.personality, to)?;
    let deploy = request::deploy_options(invocation)?;
    let method = request::method_choice(&invocation.flags)?;
    let connection = Connection::open(invocation)?;
    let request = RollbackRequest {
        name: invocation.operand(0).to_owned(),
        namespace: connection.namespace.clone(),
        to,
        method,
        cleanup_on_fail: invocation.flags.on(names::CLEANUP_ON_FAIL),
        max_history: request::max_history(invocation),
        description: invocation.flags.text(names::DESCRIPTION).to_owned(),
        deploy,
        dry_run: DryRun::None,
    };
    plan_stored(invocation, &connection, &PlanRequest::Rollback(Box::new(request)), format)
}

fn plan_uninstall(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let deploy = request::deploy_options(invocation)?;
    let connection = Connection::open(invocation)?;
    let request = UninstallRequest {
        name: invocation.operand(0).to_owned(),
        namespace: connection.namespace.clone(),
        keep_history: invocation.flags.on(names::KEEP_HISTORY),
        cascade: uninstall::cascade(invocation.flags.text(names::CASCADE))?,
        description: invocation.flags.text(names::DESCRIPTION).to_owned(),
        deploy,
        ..UninstallRequest::default()
    };
    plan_stored(invocation, &connection, &PlanRequest::Uninstall(Box::new(request)), format)
}

/// Plans an operation that needs no chart.
fn plan_stored(
    invocation: &mut Invocation<'_>,
    connection: &Connection,
    request: &PlanRequest,
    format: Format,
) -> Result<(), Failure> {
    let planned = {
        let mut reporter = ClusterReporter::new(invocation.ui, true);
        connection.run(pintle::ops::plan(&connection.session, request, &mut reporter))?
    };
    finish(invocation, connection, request, planned, format)
}

/// Shows a plan that was saved.
fn show_saved(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let saved = file::read(invocation, invocation.operand(0))?;
    print(invocation, &saved.plan, format)?;
    answer(invocation, &saved.plan)
}

fn format(invocation: &Invocation<'_>) -> Result<Format, Failure> {
    match invocation.flags.text(names::OUTPUT) {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        "markdown" | "md" => Ok(Format::Markdown),
        "dot" => Ok(Format::Dot),
        other => Err(Failure::usage(format!("--output is {}", quote(other.as_bytes())))
            .hint("it may be text, json, markdown or dot")),
    }
}

/// Prints the plan, saves it if a file is given, and answers by the exit code.
fn finish(
    invocation: &mut Invocation<'_>,
    connection: &Connection,
    request: &PlanRequest,
    planned: Planned,
    format: Format,
) -> Result<(), Failure> {
    let lifetime = file::lifetime(invocation)?;
    let plan = planned.plan.clone();
    print(invocation, &plan, format)?;
    let path = invocation.flags.text(names::SAVE).to_owned();
    if !path.is_empty() {
        let saved = connection.run(planned.save(&connection.session, request, lifetime))?;
        file::write(invocation, &path, &saved)?;
    }
    answer(invocation, &plan)
}

/// What to do about the objects that cannot be applied.
fn advice(invocation: &Invocation<'_>, plan: &ReleasePlan) -> String {
    let problems = || plan.objects.iter().filter(|object| object.problem.is_some());
    match problems().find(|object| !object.immutable.is_empty()) {
        Some(object) => {
            let fields = object.immutable.join(", ");
            let cost = crate::advice::recreation(&object.id.kind, &object.id.name, invocation);
            format!("{fields} of {} {}: {cost}", object.id.kind, object.id.name)
        }
        None => "the lines with `refused:` say why".to_owned(),
    }
}

/// Answers by the exit code.
fn answer(invocation: &Invocation<'_>, plan: &ReleasePlan) -> Result<(), Failure> {
    let problems = plan.problems().count();
    if problems > 0 {
        let plural = if problems == 1 { "object" } else { "objects" };
        return Err(Failure::run_time(format!(
            "the {} would fail: {problems} {plural} cannot be applied",
            plan.operation.name()
        ))
        .hint(advice(invocation, plan)));
    }
    let changes = plan.has_changes() && !invocation.flags.on(names::NO_DETAILED_EXITCODE);
    if changes { Err(Failure::new(FailureKind::Changes, "")) } else { Ok(()) }
}
