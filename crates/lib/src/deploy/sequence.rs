//! The stages in which the objects of a version are applied, if its chart requests an order (HIP-0025).

use std::collections::BTreeMap;

use pintle_cluster::wait::{READINESS_FAILURE, READINESS_SUCCESS, ReadinessExpressions};
use pintle_objects::{Object, split};
use pintle_plan::sequence::{ChartObject, DEPENDS_ON_GROUPS, RESOURCE_GROUP, Stages, stages};
use pintle_release::ReleaseVersion;
use pintle_tree::Node;

use crate::lifecycle::record_metadata;
use crate::{Error, Result};

/// The comment with the template of a document.
const SOURCE: &[u8] = b"# Source: ";

/// Computes the stages of the objects of a version. Returns `None` for a chart that requests no order.
///
/// # Errors
/// Groups or subcharts that depend on each other.
pub(super) fn of_version(version: &ReleaseVersion, objects: &[Object]) -> Result<Option<Stages>> {
    let order = record_metadata::subchart_order(&version.chart);
    if order.is_empty() && objects.iter().all(|object| object.annotation(RESOURCE_GROUP).is_none()) {
        return Ok(None);
    }
    let charts = ChartsOfObjects::read(&version.manifest);
    let objects: Vec<ChartObject<'_>> =
        objects.iter().map(|object| ChartObject { chart: charts.find(object), object }).collect();
    stages(&objects, &order).map_err(Error::DependencyCycle)
}

/// Checks how objects define their own readiness, before any of them is applied. Adds a warning for each that has only one of
/// the two annotations: it has no effect, and the rules of its kind apply.
///
/// # Errors
/// An expression that cannot be understood.
pub(super) fn check_readiness(stages: &mut Stages, objects: &[Object]) -> Result<()> {
    for object in objects {
        let (kind, name) = (object.kind(), object.name());
        ReadinessExpressions::from_object(object).map_err(|source| Error::ReadinessExpression {
            kind: kind.to_owned(),
            name: name.to_owned(),
            source,
        })?;
        let has = |key| object.annotation(key).is_some();
        if has(READINESS_SUCCESS) != has(READINESS_FAILURE) {
            stages.warnings.push(format!(
                "{kind} {name} has only one of {READINESS_SUCCESS} and {READINESS_FAILURE}: it has no effect without the other"
            ));
        }
    }
    Ok(())
}

/// Removes the annotation that Kubernetes does not accept.
pub(super) fn strip(object: &mut Object) {
    if object.annotation(DEPENDS_ON_GROUPS).is_none() {
        return;
    }
    let metadata = object.metadata_mut();
    if let Some(Node::Map(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(DEPENDS_ON_GROUPS);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// The folder of the chart that each object of a manifest comes from.
struct ChartsOfObjects {
    /// By API version, kind and name: the namespace that the template gives, and the folder.
    charts: BTreeMap<(String, String, String), Vec<(String, String)>>,
}

impl ChartsOfObjects {
    fn read(manifest: &str) -> Self {
        let mut charts: BTreeMap<_, Vec<(String, String)>> = BTreeMap::new();
        let mut folder = "";
        for document in split(manifest.as_bytes()) {
            if let Some(path) = source(document) {
                folder = path.split_once("/templates/").map_or(path, |(folder, _)| folder);
            }
            for object in Object::read_readable(document) {
                let namespace = object.namespace().to_owned();
                charts.entry(key(&object)).or_default().push((namespace, folder.to_owned()));
            }
        }
        ChartsOfObjects { charts }
    }

    /// Finds the chart of an object, whose namespace may have been set since.
    fn find(&self, object: &Object) -> &str {
        let Some(found) = self.charts.get(&key(object)) else { return "" };
        let exact = found.iter().find(|(namespace, _)| namespace == object.namespace());
        let unset = || found.iter().find(|(namespace, _)| namespace.is_empty());
        exact.or_else(unset).or(found.first()).map_or("", |(_, chart)| chart)
    }
}

fn key(object: &Object) -> (String, String, String) {
    (object.api_version().to_owned(), object.kind().to_owned(), object.name().to_owned())
}

/// The path of the template in the first comment of a document.
fn source(document: &[u8]) -> Option<&str> {
    let line = document.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    std::str::from_utf8(line.strip_prefix(SOURCE)?.trim_ascii()).ok()
}
