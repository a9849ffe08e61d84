//! `template` with a cluster: its capabilities and `lookup`, and validation of the result on it.

use pintle_events::Event as LifecycleEvent;
use pintle_objects::Validation;
use pintle_release::ReleaseVersion;

use super::template::{TemplateRequest, Templated, output};
use super::{locate, name};
use crate::deploy::{AdoptionPolicy, PlanOptions, ThreeWayState};
use crate::live::{self, CrdStage, LiveInput};
use crate::options::{DeployOptions, Method};
use crate::prepare::Prepared;
use crate::{Error, Reporter, Result, Session, Silent, manifest};

pub(super) async fn template(
    session: &Session,
    request: &TemplateRequest,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    let (chart, user) = locate::load_with_values(&request.chart, &request.values, reporter)?;
    session.cluster.check_reachable().await.map_err(Error::ReachabilityCheck)?;
    name::check(&request.name, reporter)?;
    let input = LiveInput {
        chart,
        user,
        release: request.target().release,
        render: &request.render_options(),
        crds: if request.skip_crds { CrdStage::Skip } else { CrdStage::Warn },
        lookup: true,
        remember: false,
        wait: DeployOptions::default().timeout,
    };
    let (session, prepared) = live::prepare(session, input, reporter).await?;
    validate(&session, request, &prepared).await?;
    let prepared = live::emit_rendered(LifecycleEvent::PostValidate, prepared).await?;
    let prepared = live::emit_rendered(LifecycleEvent::PostTemplate, prepared).await?;
    session.events.report(reporter);
    if session.events.listens(LifecycleEvent::PostTemplate) {
        validate(&session, request, &prepared).await?;
    }
    output(request, &prepared, reporter)
}

/// Checks that the cluster knows all kinds, and that no existing object has another owner.
async fn validate(session: &Session, request: &TemplateRequest, prepared: &Prepared) -> Result<()> {
    let recorded = manifest::record(prepared, false, &mut Silent)?;
    let version = ReleaseVersion {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        manifest: recorded.manifest,
        ..ReleaseVersion::default()
    };
    let adoption = if request.is_upgrade { AdoptionPolicy::Unchecked } else { AdoptionPolicy::OwnedOnly };
    let options = PlanOptions {
        method: Method::ServerSide,
        adoption,
        validation: Validation::default(),
        ordered: false,
    };
    let state = ThreeWayState::load(session, &version, None, options).await?;
    state.plan().map_err(|source| Error::CannotContinue { operation: "install", cause: source })?;
    Ok(())
}
