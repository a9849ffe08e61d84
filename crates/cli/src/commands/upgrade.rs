//! `upgrade`: upgrades a release to another chart or other values.

use pintle::ops::{InstallRequest, UpgradeRequest, ValuesPolicy};
use pintle::release::{Status, Summary};
use pintle::{DeployOptions, DryRun, LocatedChart, Method, values};
use pintle_tree::quote::quote;

use super::install::{self, cancel_on_signals, request_for, request_of, show, with_dependencies};
use super::request::warn_if_managed;
use crate::chart_reference;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::{DRY_RUN, EXCLUSIVE, OUTPUT};
use crate::flag::names;
use crate::flag::operations::{UPGRADE_GROUPS, join};
use crate::flag::parsed::Parsed;
use crate::invocation::Invocation;
use crate::output::format::Format;
use crate::report::ClusterReporter;
use crate::request;

/// `upgrade [RELEASE] [CHART]`
pub(crate) static COMMAND: Command = Command {
    name: "upgrade",
    operands_text: "[RELEASE] [CHART]",
    short: "upgrade a release",
    long: "\
Upgrade a release to a version of a chart. With --install, a release that does not exist is installed.

If no values are set, those of the last version are reused. Otherwise only the new ones are used, unless
--reuse-values or --reset-then-reuse-values is set:

    {program} upgrade web ./web --reset-then-reuse-values --set replicas=5

With --dry-run nothing is applied, and the objects are shown, including Secrets unless --hide-secret is set.",
    operands: Operands::Exactly(2),
    completion: ArgCompletion::ReleaseAndChart,
    flags: &join::<18>(&[&UPGRADE_GROUPS, &[DRY_RUN, OUTPUT]]),
    exclusive: EXCLUSIVE,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let mode = request::mode(&invocation.flags, invocation.ui)?;
    let deploy = request::deploy_options(invocation)?;
    let name = invocation.operand(0).to_owned();
    let reference = invocation.operand(1).to_owned();
    let table = !Format::from_flags(&invocation.flags).is_data();
    if invocation.flags.on(names::INSTALL) {
        let connection = Connection::open_or_create(invocation, mode)?;
        let last = last(&connection, &name)?;
        let uninstalled = last.as_ref().is_some_and(|last| last.status == Status::Uninstalled);
        if last.is_none() || uninstalled {
            if table {
                let name = quote(name.as_bytes());
                invocation.ui.print(&format!("Release {name} does not exist. Installing it now.\n"))?;
            }
            return install(invocation, &connection, &reference, mode, deploy, uninstalled);
        }
        let chart = chart_reference::locate(invocation, &reference)?;
        return upgrade(invocation, &connection, chart, mode, deploy);
    }
    // A missing chart is reported before the cluster is contacted.
    let chart = chart_reference::locate(invocation, &reference)?;
    let connection = Connection::open(invocation)?;
    upgrade(invocation, &connection, chart, mode, deploy)
}

/// The last version of the release, if it exists.
fn last(connection: &Connection, name: &str) -> Result<Option<Summary>, Failure> {
    let history = pintle::ops::history(&connection.session, &connection.namespace, name, 1);
    match connection.try_run(history) {
        Ok(mut versions) => Ok(versions.pop()),
        Err(pintle::Error::NoSuchRelease { .. }) => Ok(None),
        // It exists, so it would be upgraded.
        Err(error @ pintle::Error::NoReadableVersion { .. }) => {
            Err(Failure::from(error).during("UPGRADE FAILED"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Installs a missing release, without the prefix that Helm adds to errors of `install`.
fn install(
    invocation: &mut Invocation<'_>,
    connection: &Connection,
    reference: &str,
    mode: DryRun,
    deploy: DeployOptions,
    replace: bool,
) -> Result<(), Failure> {
    let client_side = invocation.flags.text(names::SERVER_SIDE) == "false";
    let request = InstallRequest {
        name: invocation.operand(0).to_owned(),
        replace,
        method: if client_side { Method::ClientSide } else { Method::ServerSide },
        ..request_of(invocation, reference, mode, deploy)?
    };
    let version = install::install(invocation, Some(connection), request)?;
    show(invocation, &version)
}

fn upgrade(
    invocation: &mut Invocation<'_>,
    connection: &Connection,
    chart: LocatedChart,
    mode: DryRun,
    deploy: DeployOptions,
) -> Result<(), Failure> {
    let name = invocation.operand(0).to_owned();
    let method =
        request::method_choice(&invocation.flags).map_err(|failure| failure.during("UPGRADE FAILED"))?;
    let target = InstallRequest { name: name.clone(), ..request_for(invocation, chart, mode, deploy)? };
    let request = UpgradeRequest {
        method,
        values_policy: values_policy(&invocation.flags),
        cleanup_on_fail: invocation.flags.on(names::CLEANUP_ON_FAIL),
        max_history: request::max_history(invocation),
        install: false,
        target,
    };
    let data = Format::from_flags(&invocation.flags).is_data();
    cancel_on_signals(invocation, connection)?;
    let mut early = true;
    let upgraded = with_dependencies(invocation, &request.target, |invocation| {
        let mut reporter = ClusterReporter::new(invocation.ui, data);
        let upgraded = connection.try_run(pintle::ops::upgrade(&connection.session, &request, &mut reporter));
        early = upgraded.as_ref().is_err_and(is_early);
        upgraded
    });
    let upgraded =
        upgraded.map_err(|failure| if early { failure } else { failure.during("UPGRADE FAILED") })?;
    if !mode.is_dry_run() {
        warn_if_managed(invocation, &upgraded.version.labels, "upgrade it back");
    }
    if !data {
        let name = quote(name.as_bytes());
        invocation.ui.print(&format!("Release {name} has been upgraded. Happy Helming!\n"))?;
    }
    show(invocation, &upgraded.version)
}

/// Whether the error occurs while chart and values are loaded, before Helm logs that the upgrade failed.
fn is_early(error: &pintle::Error) -> bool {
    match error {
        pintle::Error::Values(error) => {
            !matches!(error, values::Error::Schema(_) | values::Error::TypeMismatch { .. })
        }
        pintle::Error::Chart(_)
        | pintle::Error::MissingDependencies(_)
        | pintle::Error::NotInstallable { .. }
        | pintle::Error::ChartNotFound { .. }
        | pintle::Error::RemoteChart { .. }
        | pintle::Error::File { .. } => true,
        _ => false,
    }
}

pub(super) fn values_policy(flags: &Parsed) -> ValuesPolicy {
    if flags.on(names::RESET_VALUES) {
        ValuesPolicy::Reset
    } else if flags.on(names::REUSE_VALUES) {
        ValuesPolicy::Reuse
    } else if flags.on(names::RESET_THEN_REUSE_VALUES) {
        ValuesPolicy::ResetThenReuse
    } else {
        ValuesPolicy::ReuseIfNoneGiven
    }
}
