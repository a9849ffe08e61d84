//! Installs the CustomResourceDefinitions of a chart's `crds/` folders, before anything else of the chart.

use std::time::Duration;

use pintle_chart::{Chart, File};
use pintle_cluster::wait::{Strategy, WaitFor, WaitOptions, Waiter};
use pintle_objects::{Built, Object, ObjectId, Validation};
use pintle_tree::Node;

use crate::options::Method;
use crate::{Error, Reporter, Result, Session, deploy};

/// Limit for a CRD to become established, the same as Helm's.
const ESTABLISHED_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause between two discovery requests while new kinds are not listed yet.
const DISCOVERY_INTERVAL: Duration = Duration::from_millis(100);

/// Applies the CRDs of a chart and its subcharts, file by file, and waits until the API server serves the new kinds.
///
/// # Errors
/// The first file that is not a CRD or that the API server rejects.
pub(crate) async fn install(
    session: &Session,
    chart: &Chart,
    namespace: &str,
    method: Method,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let files = chart.crds();
    for crd in &files {
        session.record_objects.check_text(&crd.file.data, &crd.path, reporter)?;
        check(crd.file).map_err(|reason| failed(crd.file, reason))?;
    }
    let (mut made, mut kinds) = (Vec::new(), Vec::new());
    for crd in &files {
        let text = String::from_utf8_lossy(&crd.file.data);
        let objects = deploy::build_objects(&session.cluster, &text, namespace, Validation::Ignore)
            .await
            .map_err(|error| failed(crd.file, error.to_string()))?;
        for object in &objects {
            deploy::create_or_apply(session, object, method)
                .await
                .map_err(|error| failed(crd.file, error.to_string()))?;
            made.push(object.id());
            kinds.extend(served_kinds(object));
        }
    }
    wait_until_established(session, &made).await?;
    wait_until_discovered(session, &kinds).await;
    Ok(())
}

/// Returns the CRDs of a chart, for a plan.
///
/// # Errors
/// The first file that is not a CRD.
pub(crate) async fn objects(session: &Session, chart: &Chart, namespace: &str) -> Result<Vec<Object>> {
    let mut all = Vec::new();
    for crd in &chart.crds() {
        check(crd.file).map_err(|reason| failed(crd.file, reason))?;
        let text = String::from_utf8_lossy(&crd.file.data);
        let objects = deploy::build_objects(&session.cluster, &text, namespace, Validation::Ignore).await;
        all.extend(objects.map_err(|error| failed(crd.file, error.to_string()))?);
    }
    Ok(all)
}

/// Returns the API versions that a CRD serves, each with the kind.
pub(crate) fn served_kinds(definition: &Object) -> Vec<(String, String)> {
    let (group, kind) = (definition.text(&["spec", "group"]), definition.text(&["spec", "names", "kind"]));
    let versions = definition.at(&["spec", "versions"]).and_then(Node::as_list).unwrap_or_default();
    let served = versions.iter().filter(|version| version.get("served") == Some(&Node::Bool(true)));
    let names = served.filter_map(|version| version.get("name")?.as_str());
    names.map(|version| (format!("{group}/{version}"), kind.to_owned())).collect()
}

/// Waits until discovery lists the kinds. The API server updates discovery shortly after it marks a CRD as
/// established. A kind that is still missing after the limit is not an error here: building its objects reports it.
async fn wait_until_discovered(session: &Session, kinds: &[(String, String)]) {
    let limit = tokio::time::Instant::now() + ESTABLISHED_TIMEOUT;
    for (version, kind) in kinds {
        while session.cluster.resource(version, kind).await.is_err() && tokio::time::Instant::now() < limit {
            tokio::time::sleep(DISCOVERY_INTERVAL).await;
            session.cluster.invalidate_discovery().await;
        }
    }
}

/// Checks that a file contains objects. Runs over all files before the first one is sent, so that a bad file leaves
/// the cluster untouched.
fn check(file: &File) -> std::result::Result<(), String> {
    let mut problems = Vec::new();
    let mut count = 0;
    for document in pintle_objects::build(&file.data, Validation::Ignore) {
        match document {
            Ok(Built::Object(_)) => count += 1,
            Ok(Built::List { members, .. }) => {
                count += members.len();
                problems.extend(members.into_iter().filter_map(|member| Some(member.err()?.to_string())));
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    match (problems.is_empty(), count) {
        (false, _) => Err(pintle_objects::aggregate(problems)),
        (true, 0) => Err("resources are empty".to_owned()),
        (true, _) => Ok(()),
    }
}

fn failed(file: &File, reason: String) -> Error {
    Error::Crd { path: file.name.clone(), reason }
}

/// Waits until CRDs are established, and drops the cached discovery.
///
/// # Errors
/// When the limit is exceeded.
pub(crate) async fn wait_until_established(session: &Session, made: &[ObjectId]) -> Result<()> {
    if made.is_empty() {
        return Ok(());
    }
    let waiting = WaitOptions {
        wait_for: WaitFor::Ready,
        strategy: Strategy::Watcher,
        timeout: ESTABLISHED_TIMEOUT,
        fail_fast: None,
    };
    Waiter::new(&session.cluster, waiting).wait(made, &mut |_| {}).await.map_err(Box::new)?;
    session.cluster.invalidate_discovery().await;
    Ok(())
}
