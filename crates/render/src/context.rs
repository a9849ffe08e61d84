//! The root context of templates: `.Values`, `.Chart`, `.Files`, `.Release`, `.Capabilities`, `.Subcharts`.

use pintle_chart::Chart;
use pintle_chart::metadata::{Dependency, Maintainer, Metadata};
use pintle_gotmpl::{MapRef, MapType, Value};
use pintle_tree::{Map, Node, Str};

use crate::files::Files;
use crate::{Release, Target};

/// The context shared by all templates of one chart.
pub(crate) struct Scope {
    /// The chart path, as in `root/charts/sub`.
    pub(crate) path: String,
    /// The root context; templates may modify it, and later ones see the change.
    pub(crate) root: MapRef,
}

/// Builds the contexts of a chart and its subcharts, children first.
///
/// A subchart's `.Values` is the same map as its parent's `.Values.<name>`, and `.Release` and `.Capabilities` are
/// shared by the whole tree: charts depend on seeing each other's changes.
pub(crate) fn scopes(chart: &Chart, values: &Map<Node>, target: &Target) -> Vec<Scope> {
    let values = Value::Map(MapRef::of(MapType::Values, Value::entries_from(values)));
    let shared = Shared { release: release(&target.release), capabilities: target.capabilities.to_value() };
    let mut scopes = Vec::new();
    shared.descend(chart, chart.name().to_owned(), true, values, &mut scopes);
    scopes
}

struct Shared {
    release: Value,
    capabilities: Value,
}

impl Shared {
    fn descend(
        &self,
        chart: &Chart,
        path: String,
        is_root: bool,
        values: Value,
        scopes: &mut Vec<Scope>,
    ) -> Value {
        let subcharts = MapRef::new(Map::new());
        for child in &chart.subcharts {
            let child_values = match &values {
                Value::Map(map) => table(map, child.name()),
                _ => None,
            };
            // A subchart whose values are not a table gets an empty one, which the parent does not see.
            let child_values = child_values.unwrap_or_else(|| MapRef::of(MapType::Values, Map::new()));
            let child_path = format!("{path}/charts/{}", child.name());
            let context = self.descend(child, child_path, false, Value::Map(child_values), scopes);
            subcharts.insert(child.name().into(), context);
        }
        let root = MapRef::new(
            [
                ("Capabilities", self.capabilities.clone()),
                ("Chart", metadata(&chart.metadata, is_root)),
                ("Files", Value::object(Files::new(&chart.files))),
                ("Release", self.release.clone()),
                ("Subcharts", Value::Map(subcharts)),
                ("Values", values),
            ]
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect(),
        );
        // After its children, so that the root chart is the last.
        scopes.push(Scope { path, root: root.clone() });
        Value::Map(root)
    }
}

/// The table under `name`, typed as chart values. As in Helm, names with dots are paths.
fn table(values: &MapRef, name: &str) -> Option<MapRef> {
    let mut current = values.clone();
    for key in name.split('.') {
        let Some(Value::Map(next)) = current.get(key) else { return None };
        current = next;
    }
    Some(current.retyped(MapType::Values))
}

fn release(release: &Release) -> Value {
    let entries = [
        ("IsInstall", Value::Bool(!release.is_upgrade)),
        ("IsUpgrade", Value::Bool(release.is_upgrade)),
        ("Name", release.name.as_str().into()),
        ("Namespace", release.namespace.as_str().into()),
        ("Revision", Value::int(release.revision)),
        // Charts write it into the label `app.kubernetes.io/managed-by`, so it must stay "Helm".
        ("Service", "Helm".into()),
    ];
    Value::map(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// `.Chart` by its Go field names, all fields present.
fn metadata(metadata: &Metadata, is_root: bool) -> Value {
    let annotations =
        metadata.annotations.iter().map(|(name, text)| (Str::from(name), Value::from(text.as_str())));
    // Helm passes this map as it is, so it can be nil; lists become new, non-nil ones (`structToMap`).
    let annotations = match metadata.annotations.is_empty() {
        true => MapRef::nil(MapType::Str),
        false => MapRef::of(MapType::Str, annotations.collect()),
    };
    record([
        ("APIVersion", text(&metadata.api_version)),
        ("Annotations", Value::Map(annotations)),
        ("AppVersion", text(&metadata.app_version)),
        ("Condition", text(&metadata.condition)),
        ("Dependencies", Value::list(metadata.dependencies.iter().map(dependency).collect())),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Description", text(&metadata.description)),
        ("Home", text(&metadata.home)),
        ("Icon", text(&metadata.icon)),
        ("IsRoot", Value::Bool(is_root)),
        ("Keywords", texts(&metadata.keywords)),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Maintainers", Value::list(metadata.maintainers.iter().map(maintainer).collect())),
        ("Name", text(&metadata.name)),
        ("Sources", texts(&metadata.sources)),
        ("Tags", text(&metadata.tags)),
        ("Type", text(&metadata.kind)),
        ("Version", text(&metadata.version)),
    ])
}

fn maintainer(maintainer: &Maintainer) -> Value {
    record([
        ("Email", text(&maintainer.email)),
        ("Name", text(&maintainer.name)),
        ("URL", text(&maintainer.url)),
    ])
}

fn dependency(dependency: &Dependency) -> Value {
    record([
        ("Alias", text(&dependency.alias)),
        ("Condition", text(&dependency.condition)),
        ("Enabled", Value::Bool(dependency.enabled)),
        ("ImportValues", Value::list(dependency.import_values.iter().map(Value::from_node).collect())),
        ("Name", text(&dependency.name)),
        ("Repository", text(&dependency.repository)),
        ("Tags", texts(&dependency.tags)),
        ("Version", text(&dependency.version)),
    ])
}

fn record<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn text(text: &str) -> Value {
    text.into()
}

fn texts(texts: &[String]) -> Value {
    Value::list(texts.iter().map(|text| text.as_str().into()).collect())
}
