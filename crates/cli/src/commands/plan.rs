//! `plan`: shows what an operation would do.

mod output;

use pintle::ops::{InstallRequest, ReleasePlan, RollbackRequest, UninstallRequest, UpgradeRequest};
use pintle::{DryRun, Method};
use pintle_tree::quote::quote;

use super::images::rewrite::REWRITE;
use super::install::{name_for, request_of, with_dependencies};
use super::{uninstall, upgrade};
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::{Failure, FailureKind};
use crate::flag::deploy::{EXCLUSIVE, HOOKS, INSTALL, NOTES, ROLLBACK, UNINSTALL, UPGRADE};
use crate::flag::groups::{CHART, DEVEL, POST_RENDER, RECORDS, REMOTE, SCHEMA, VALUES};
use crate::flag::{Flag, FlagCompletion, Kind};
use crate::invocation::Invocation;
use crate::report::ClusterReporter;
use crate::request;
use crate::scripts::SCRIPTS;
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

The exit code is 0 if no object would change, 2 if some would, and 1 on errors and if the operation would fail.",
    subcommands: &[&INSTALL_COMMAND, &ROLLBACK_COMMAND, &UNINSTALL_COMMAND, &UPGRADE_COMMAND],
    ..Command::BLANK
};

static PLAN: &[Flag] = &[
    Flag::text("output", "the format: text, json, markdown or dot")
        .short('o')
        .or("text")
        .completes(FlagCompletion::Words(&["text", "json", "markdown", "dot"])),
    Flag::of("context", Kind::Int, "3", "the number of equal lines around changes; all if negative")
        .short('C'),
    Flag::switch("show-unchanged", "list objects that do not change"),
    Flag::switch("no-detailed-exitcode", "exit with 0 if objects would change"),
];

static INSTALL_COMMAND: Command = Command {
    name: "install",
    operands_text: "[NAME] [CHART]",
    short: "show what an install would do",
    long: "Show what `{program} install` would do with the same arguments.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NameAndChart,
    flags: &[
        INSTALL,
        NOTES,
        DEVEL,
        SCHEMA,
        VALUES,
        CHART,
        REMOTE,
        POST_RENDER,
        REWRITE,
        HOOKS,
        SCRIPTS,
        RECORDS,
        PLAN,
    ],
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
    flags: &[UPGRADE, NOTES, DEVEL, SCHEMA, VALUES, CHART, REMOTE, POST_RENDER, REWRITE, HOOKS, SCRIPTS, RECORDS, PLAN],
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
    flags: &[ROLLBACK, HOOKS, SCRIPTS, RECORDS, PLAN],
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
    flags: &[UNINSTALL, HOOKS, SCRIPTS, RECORDS, PLAN],
    answers_by_exit_code: true,
    run: Some(plan_uninstall),
    ..Command::BLANK
};

fn plan_install(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let deploy = request::deploy_options(invocation)?;
    let (name, reference) =
        request::name_and_chart(&invocation.flags, |chart| name_for(chart, &invocation.flags))?;
    let request = InstallRequest {
        name,
        replace: invocation.flags.on("replace"),
        method: if invocation.flags.on("server-side") { Method::ServerSide } else { Method::ClientSide },
        ..request_of(invocation, &reference, DryRun::Server, deploy)?
    };
    let connection = Connection::open_or_create(invocation, DryRun::Server)?;
    let plan = with_dependencies(invocation, &request, |invocation| {
        let mut reporter = ClusterReporter::new(invocation.ui, true);
        connection.try_run(pintle::ops::plan_install(&connection.session, &request, &mut reporter))
    })?;
    finish(invocation, &plan, format)
}

fn plan_upgrade(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let deploy = request::deploy_options(invocation)?;
    let reference = invocation.operand(1).to_owned();
    let target = InstallRequest {
        name: invocation.operand(0).to_owned(),
        ..request_of(invocation, &reference, DryRun::Server, deploy)?
    };
    let request = UpgradeRequest {
        method: request::method_choice(&invocation.flags)?,
        values_policy: upgrade::values_policy(&invocation.flags),
        install: invocation.flags.on("install"),
        target,
        ..UpgradeRequest::default()
    };
    let connection = Connection::open_or_create(invocation, DryRun::Server)?;
    let plan = with_dependencies(invocation, &request.target, |invocation| {
        let mut reporter = ClusterReporter::new(invocation.ui, true);
        connection.try_run(pintle::ops::plan_upgrade(&connection.session, &request, &mut reporter))
    })?;
    finish(invocation, &plan, format)
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
        deploy,
        dry_run: DryRun::Server,
        ..RollbackRequest::default()
    };
    let plan = {
        let mut reporter = ClusterReporter::new(invocation.ui, true);
        connection.run(pintle::ops::plan_rollback(&connection.session, &request, &mut reporter))?
    };
    finish(invocation, &plan, format)
}

fn plan_uninstall(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let deploy = request::deploy_options(invocation)?;
    let connection = Connection::open(invocation)?;
    let request = UninstallRequest {
        name: invocation.operand(0).to_owned(),
        namespace: connection.namespace.clone(),
        keep_history: invocation.flags.on("keep-history"),
        cascade: uninstall::cascade(invocation.flags.text("cascade"))?,
        deploy,
        dry_run: true,
        ..UninstallRequest::default()
    };
    let plan = connection.run(pintle::ops::plan_uninstall(&connection.session, &request))?;
    finish(invocation, &plan, format)
}

fn format(invocation: &Invocation<'_>) -> Result<Format, Failure> {
    match invocation.flags.text("output") {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        "markdown" | "md" => Ok(Format::Markdown),
        "dot" => Ok(Format::Dot),
        other => Err(Failure::usage(format!("--output is {}", quote(other.as_bytes())))
            .hint("it may be text, json, markdown or dot")),
    }
}

/// Prints the plan and answers by the exit code.
fn finish(invocation: &mut Invocation<'_>, plan: &ReleasePlan, format: Format) -> Result<(), Failure> {
    print(invocation, plan, format)?;
    let problems = plan.problems().count();
    if problems > 0 {
        let plural = if problems == 1 { "object" } else { "objects" };
        return Err(Failure::run_time(format!(
            "the {} would fail: {problems} {plural} cannot be applied",
            plan.operation
        )));
    }
    let changes = plan.has_changes() && !invocation.flags.on("no-detailed-exitcode");
    if changes { Err(Failure::new(FailureKind::Changes, "")) } else { Ok(()) }
}
