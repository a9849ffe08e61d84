//! Applies a saved plan: the operation that was planned, with what was rendered then, if nothing has changed since.

use pintle_events::Event as LifecycleEvent;
use pintle_release::ReleaseVersion;

use super::saved::{SavedPlan, cluster_id};
use super::stale::{StaleReason, compare};
use super::{Operation, PlanRequest, ReleasePlan, plan_uninstall, trial};
use crate::deploy::KeptObjects;
use crate::ops::{InstallRequest, UpgradeRequest, install, rollback, uninstall, upgrade};
use crate::options::{DryRun, Method};
use crate::{Error, Reporter, Result, Session, crds};

/// The lifecycle events of installs and upgrades after rendering. Rollbacks and uninstalls load their scripts themselves.
const HANDLED: [LifecycleEvent; 7] = [
    LifecycleEvent::PreInstall,
    LifecycleEvent::PostInstall,
    LifecycleEvent::PreUpgrade,
    LifecycleEvent::PostUpgrade,
    LifecycleEvent::Wait,
    LifecycleEvent::Watch,
    LifecycleEvent::Ready,
];

/// The result of applying a plan.
#[derive(Clone, Debug)]
pub struct AppliedPlan {
    /// What was done.
    pub operation: Operation,
    /// The version that was deployed or uninstalled.
    pub version: ReleaseVersion,
    /// The objects that an uninstall has not deleted.
    pub kept: KeptObjects,
}

/// Applies a saved plan, and nothing else.
///
/// # Errors
/// [`Error::StalePlan`] when the plan has expired, was made for another cluster, or anything that it depends on has
/// changed; nothing is applied then. Otherwise as the operation.
pub async fn apply_plan(
    session: &Session,
    saved: &SavedPlan,
    reporter: &mut dyn Reporter,
) -> Result<AppliedPlan> {
    session.cluster.check_reachable().await?;
    let now = session.clock.now();
    if now.unix_millis() > saved.expires.unix_millis() {
        let how = format!("it was made at {} and expired at {}", saved.created, saved.expires);
        return Err(Error::StalePlan { moved: vec![StaleReason::new("the plan", how)] });
    }
    if cluster_id(session).await? != saved.cluster {
        let moved = StaleReason::new("the cluster", "it is not the one that the plan was made for");
        return Err(Error::StalePlan { moved: vec![moved] });
    }
    let (session, fresh) = replan(session, saved, reporter).await?;
    let moved = compare(&saved.plan, &fresh);
    if !moved.is_empty() {
        return Err(Error::StalePlan { moved });
    }
    let outcome = run(&session, saved, reporter).await;
    session.finish(outcome, reporter)
}

/// Makes the plan again from what was rendered for it. Returns the session with the scripts of its chart, too.
async fn replan(
    session: &Session,
    saved: &SavedPlan,
    reporter: &mut dyn Reporter,
) -> Result<(Session, ReleasePlan)> {
    let (name, namespace) = saved.request.name_and_namespace();
    let gone = |error: Error| match error {
        Error::NoSuchRelease { .. } | Error::NoDeployedReleases { .. } | Error::NameInUse { .. } => {
            let moved =
                StaleReason::new(format!("release {name} in namespace {namespace}"), error.to_string());
            Error::StalePlan { moved: vec![moved] }
        }
        other => other,
    };
    let mut planning = session.clone();
    let definitions = crds::new_kinds(&session.cluster, &saved.crds.iter().collect::<Vec<_>>()).await;
    planning.cluster = session.cluster.with_kinds(definitions);
    let crds = crds::steps_for(&planning, saved.crds.clone(), saved.request.crd_policy()).await?;
    let draft = match (&saved.request, &saved.version) {
        (PlanRequest::Uninstall(request), _) => {
            return Ok((session.clone(), plan_uninstall(session, request).await.map_err(gone)?));
        }
        (PlanRequest::Rollback(request), _) => {
            rollback::draft(session, request, reporter).await.map_err(gone)?
        }
        (PlanRequest::Install(request), Some(version)) => {
            draft_install(&planning, request, version, crds, reporter).await.map_err(gone)?
        }
        (PlanRequest::Upgrade(request), Some(version)) => match saved.plan.operation {
            Operation::Install => {
                let request = upgrade::as_install(request);
                draft_install(&planning, &request, version, crds, reporter).await.map_err(gone)?
            }
            _ => {
                let request = dry(request);
                upgrade::draft_of_version(&planning, &request, version.clone(), crds).await.map_err(gone)?
            }
        },
        (_, None) => return Err(Error::BadPlan { why: "it has no version to deploy".to_owned() }),
    };
    let wait = saved.request.settings().deploy.timeout;
    let with_scripts = session.with_stored_scripts(&draft.version, wait, &HANDLED).await?;
    let fresh = trial::try_all(&planning, draft, &saved.request.settings()).await?;
    Ok((with_scripts, fresh))
}

async fn draft_install(
    session: &Session,
    request: &InstallRequest,
    version: &ReleaseVersion,
    crds: Vec<crds::CrdStep>,
    reporter: &mut dyn Reporter,
) -> Result<super::Draft> {
    let last = install::last_of_free_name(session, request, reporter).await?;
    install::draft_of_version(session, request, last, version.clone(), crds).await
}

fn dry(request: &UpgradeRequest) -> UpgradeRequest {
    let mut request = request.clone();
    request.target.dry_run = DryRun::Server;
    request
}

/// Runs the operation.
async fn run(session: &Session, saved: &SavedPlan, reporter: &mut dyn Reporter) -> Result<AppliedPlan> {
    let done =
        |version| AppliedPlan { operation: saved.plan.operation, version, kept: KeptObjects::default() };
    match (&saved.request, &saved.version) {
        (PlanRequest::Install(request), Some(version)) => {
            apply_crds(session, saved, request.method, reporter).await?;
            let version = version.clone();
            install::install_planned(session, request, version, &saved.handlers, reporter).await.map(done)
        }
        (PlanRequest::Upgrade(request), Some(version)) => {
            let method = Method::from_record(&version.apply_method);
            apply_crds(session, saved, method, reporter).await?;
            let (version, handlers) = (version.clone(), &saved.handlers);
            let deployed = match saved.plan.operation {
                Operation::Install => {
                    let request = upgrade::as_install(request);
                    install::install_planned(session, &request, version, handlers, reporter).await?
                }
                _ => upgrade::upgrade_planned(session, request, version, handlers, reporter).await?,
            };
            Ok(done(deployed))
        }
        (PlanRequest::Rollback(request), _) => rollback::rollback(session, request, reporter).await.map(done),
        (PlanRequest::Uninstall(request), _) => {
            match uninstall::uninstall(session, request, reporter).await? {
                Some(gone) => Ok(AppliedPlan { kept: gone.kept, ..done(gone.version) }),
                None => Err(Error::NoSuchRelease { name: request.name.clone() }),
            }
        }
        (_, None) => Err(Error::BadPlan { why: "it has no version to deploy".to_owned() }),
    }
}

async fn apply_crds(
    session: &Session,
    saved: &SavedPlan,
    method: Method,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    if saved.crds.is_empty() {
        return Ok(());
    }
    let steps = crds::steps_for(session, saved.crds.clone(), saved.request.crd_policy()).await?;
    crds::apply(session, &steps, method, reporter).await
}
