//! Custom resource definitions of a chart's `crds/` folders, which come before everything else.

use std::time::Duration;

use pintle_chart::Chart;
use pintle_cluster::wait::{Goal, Strategy, Waiter, Waiting};
use pintle_objects::{Object, ObjectId};

use crate::deliver::create_or_apply;
use crate::options::Method;
use crate::{Error, Reporter, Result, Session};

/// How long a definition may take until the cluster serves its kind.
const RECOGNITION: Duration = Duration::from_secs(60);

/// Installs the definitions of a chart and its subcharts, file by file, and waits until the cluster serves the kinds.
///
/// # Errors
/// The first file that is no definition or that the cluster refuses.
pub(crate) async fn install(
    session: &Session,
    chart: &Chart,
    method: Method,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    for crd in chart.crds() {
        session.record_objects.check_text(&crd.file.data, &crd.path, reporter)?;
    }
    let mut made: Vec<ObjectId> = Vec::new();
    for crd in chart.crds() {
        let failed = |reason: String| Error::Crd { path: crd.file.name.clone(), reason };
        let mut objects = Object::read_manifest(&crd.file.data, &crd.file.name)
            .map_err(|error| failed(error.to_string()))?;
        if objects.is_empty() {
            return Err(failed("resources are empty".to_owned()));
        }
        for object in &mut objects {
            session.cluster.scope(object, "").await.map_err(|error| failed(error.to_string()))?;
            create_or_apply(session, object, method).await.map_err(|error| failed(error.to_string()))?;
            made.push(object.id());
        }
    }
    served(session, &made).await
}

/// Waits until the cluster serves the kinds of definitions.
///
/// # Errors
/// When it does not in good time.
pub(crate) async fn served(session: &Session, made: &[ObjectId]) -> Result<()> {
    if made.is_empty() {
        return Ok(());
    }
    let waiting =
        Waiting { goal: Goal::Ready, strategy: Strategy::Watcher, timeout: RECOGNITION, early_failure: None };
    Waiter::new(&session.cluster, waiting).wait(made, &mut |_| {}).await.map_err(Box::new)?;
    session.cluster.forget_discovery().await;
    Ok(())
}
