//! `install`: installs a chart as a release.

use std::sync::Arc;

use pintle::ops::InstallRequest;
use pintle::release::ReleaseVersion;
use pintle::{DeployOptions, DryRun, LocatedChart, Method, RenderOptions, Reporter};
use pintle_tree::{LogLevel, LogLine};

use super::images::rewrite;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{Connection, run_offline};
use crate::failure::Failure;
use crate::flag::deploy::{DRY_RUN, EXCLUSIVE, OUTPUT};
use crate::flag::names;
use crate::flag::operations::{INSTALL_GROUPS, join};
use crate::flag::parsed::Parsed;
use crate::invocation::Invocation;
use crate::output::format::Format;
use crate::output::release::Shown;
use crate::plugins::post_renderer;
use crate::report::ClusterReporter;
use crate::{chart_reference, clock, dependencies, kubeconfig, path, request, scripts};

/// `install [NAME] [CHART]`
pub(crate) static COMMAND: Command = Command {
    name: "install",
    operands_text: "[NAME] [CHART]",
    short: "install a chart",
    long: "\
Install a chart into a cluster as a release. The chart is a directory, an archive, or a reference such
as repo/name or oci://registry/name.

Set values with files (-f) and flags (--set and its variants). Later ones take precedence, and flags over files:

    {program} install web ./web -f production.yaml --set replicas=3

With --dry-run nothing is installed, and the objects are shown, including Secrets unless --hide-secret is set.

The logs of hooks are shown if these ask for it: helm.sh/hook-output-log-policy is hook-failed, hook-succeeded or both.
--no-log-output shows none.

A chart may contain scripts. You are asked before they get permission for more than changing values and objects;
--accept-perms and --yes answer in advance.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NameAndChart,
    flags: &join::<18>(&[&INSTALL_GROUPS, &[DRY_RUN, OUTPUT]]),
    exclusive: EXCLUSIVE,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let mode = request::mode(&invocation.flags, invocation.ui)?;
    let deploy = request::deploy_options(invocation)?;
    let failed = |failure: Failure| match failure.is_about_a_flag {
        // Helm checks flags before the operation begins, so their errors have no prefix.
        true => failure,
        false => failure.during("INSTALLATION FAILED"),
    };
    let flags = &invocation.flags;
    let (name, reference) = request::name_and_chart(flags, |chart| name_for(chart, flags)).map_err(failed)?;
    let replace = flags.on(names::REPLACE);
    let server_side = flags.on(names::SERVER_SIDE_SWITCH);
    let request = InstallRequest {
        name,
        replace,
        method: if server_side { Method::ServerSide } else { Method::ClientSide },
        ..request_of(invocation, &reference, mode, deploy).map_err(failed)?
    };
    let version = install(invocation, None, request).map_err(failed)?;
    show(invocation, &version)
}

/// The request fields that `install` and `upgrade` share.
pub(crate) fn request_of(
    invocation: &mut Invocation<'_>,
    reference: &str,
    mode: DryRun,
    deploy: DeployOptions,
) -> Result<InstallRequest, Failure> {
    let chart = chart_reference::locate_reported(invocation, reference)?;
    request_for(invocation, chart, mode, deploy)
}

/// As [`request_of`], for a chart that has been located.
pub(crate) fn request_for(
    invocation: &mut Invocation<'_>,
    chart: LocatedChart,
    mode: DryRun,
    deploy: DeployOptions,
) -> Result<InstallRequest, Failure> {
    let values = request::values(invocation)?;
    let post_render = post_renderer::from_flags(invocation)?;
    let unread = match request::warns_unread(invocation) {
        true => values.as_slice().into(),
        false => Arc::default(),
    };
    let flags = &invocation.flags;
    Ok(InstallRequest {
        chart: chart.into(),
        namespace: kubeconfig::namespace(flags, invocation.environment),
        values,
        create_namespace: flags.on(names::CREATE_NAMESPACE),
        crds: request::crd_policy(flags)?,
        take_ownership: flags.on(names::TAKE_OWNERSHIP),
        description: flags.text(names::DESCRIPTION).to_owned(),
        labels: flags.pairs(names::LABELS),
        rollback_on_failure: flags.on(names::ROLLBACK_ON_FAILURE) || flags.on(names::ATOMIC),
        render: RenderOptions {
            skip_schema: flags.on(names::SKIP_SCHEMA_VALIDATION),
            dns: flags.on(names::ENABLE_DNS),
            subchart_notes: flags.on(names::RENDER_SUBCHART_NOTES),
            hide_secrets: flags.on(names::HIDE_SECRET),
            disable_openapi: flags.on(names::DISABLE_OPENAPI_VALIDATION),
            images: rewrite::policy_from_flags(flags)?,
            record_objects: request::record_objects(invocation),
            post_render,
            unread,
            ..RenderOptions::default()
        },
        deploy,
        dry_run: mode,
        ..InstallRequest::default()
    })
}

/// Installs; with `--dependency-update`, downloads missing dependencies and retries.
pub(crate) fn install(
    invocation: &mut Invocation<'_>,
    connection: Option<&Connection>,
    request: InstallRequest,
) -> Result<ReleaseVersion, Failure> {
    let opened;
    let connection = match connection {
        Some(connection) => Some(connection),
        None if request.dry_run == DryRun::Client => None,
        None => {
            opened = Connection::open_or_create(invocation, request.dry_run)?;
            Some(&opened)
        }
    };
    if let Some(connection) = connection {
        cancel_on_signals(invocation, connection)?;
    }
    let offline = scripts::offline_session(invocation)?;
    with_dependencies(invocation, &request, |invocation| {
        let data = Format::from_flags(&invocation.flags).is_data();
        let mut reporter = ClusterReporter::new(invocation.ui, data);
        let outcome = match connection {
            Some(connection) => {
                connection.try_run(pintle::ops::install(&connection.session, &request, &mut reporter))
            }
            None => run_offline(pintle::ops::install(&offline, &request, &mut reporter)),
        };
        if let Err(error) = &outcome {
            log(error, &mut reporter);
        }
        outcome
    })
}

/// Helm logs some errors of `install` before it returns them.
pub(crate) fn log(error: &pintle::Error, reporter: &mut dyn Reporter) {
    if matches!(error, pintle::Error::ReachabilityCheck(_) | pintle::Error::HideSecretsNeedsDryRun) {
        reporter.log(LogLine {
            level: LogLevel::Error,
            message: error.to_string().into(),
            attributes: Vec::new(),
        });
    }
}

/// Runs an operation that needs a complete chart; with `--dependency-update`, downloads missing dependencies and
/// retries.
pub(crate) fn with_dependencies<T>(
    invocation: &mut Invocation<'_>,
    request: &InstallRequest,
    mut operation: impl FnMut(&mut Invocation<'_>) -> pintle::Result<T>,
) -> Result<T, Failure> {
    dependencies::check_epoch(invocation, &request.chart)?;
    match operation(invocation) {
        Err(pintle::Error::MissingDependencies(_)) if invocation.flags.on(names::DEPENDENCY_UPDATE) => {
            dependencies::update_reported(invocation, &request.chart)?;
            Ok(operation(invocation)?)
        }
        outcome => Ok(outcome?),
    }
}

/// From now on Ctrl-C cancels the operation.
pub(crate) fn cancel_on_signals(
    invocation: &mut Invocation<'_>,
    connection: &Connection,
) -> Result<(), Failure> {
    // The message of the signal handler bypasses the buffer, which must be empty then.
    invocation.ui.flush()?;
    connection.cancel_on_signals(Some(format!("Release {} has been cancelled.", invocation.operand(0))));
    Ok(())
}

/// Shows the release.
pub(crate) fn show(invocation: &mut Invocation<'_>, version: &ReleaseVersion) -> Result<(), Failure> {
    let shown = Shown { notes: !invocation.flags.on(names::HIDE_NOTES), ..Shown::of(version, invocation) };
    shown.print(Format::from_flags(&invocation.flags), invocation.ui)
}

/// The generated name of a release.
pub(super) fn name_for(reference: &str, flags: &Parsed) -> Result<String, Failure> {
    if flags.on(names::GENERATE_NAME) {
        return Ok(generated_name(reference, clock::now()));
    }
    Err(Failure::usage("must either provide a name or specify --generate-name")
        .hint("usage: install NAME CHART, where CHART is a folder, an archive, repo/name or a URL"))
}

/// The last part of the reference up to its first dot, and the Unix time, as Helm's `--generate-name`.
fn generated_name(reference: &str, now: i64) -> String {
    let base = match path::base(reference) {
        "." | "" => "chart",
        base => base,
    };
    let base = base.split('.').next().unwrap_or(base);
    format!("{base}-{now}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_the_chart_and_the_time() {
        assert_eq!(generated_name("charts/web-1.2.tgz", 7), "web-1-7");
        assert_eq!(generated_name(".", 7), "chart-7");
        assert_eq!(generated_name("./web/", 7), "web-7");
    }
}
