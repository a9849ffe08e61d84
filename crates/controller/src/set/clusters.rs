//! The clusters of a set, and what each is to have.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt as _};
use pintle::cluster::{Cluster, ListParams, Resource};
use pintle::objects::Object;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{CLUSTER_LABEL, ClusterSources, HelmRequestSet, SetSpec};
use crate::expression::{Evaluation, Expression};
use crate::request::{ArchiveKind, HelmRequestSpec, SecretKeyReference, hex};
use crate::values;

/// The most clusters of a set.
const MAX_CLUSTERS: usize = 2_000;
/// The longest name of a cluster or of a request.
const MAX_NAME: usize = 63;

/// A cluster.
#[derive(Clone, Debug)]
pub(super) struct TargetCluster {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    /// The Secret with its kubeconfig; none for the cluster of the set.
    secret: Option<SecretKeyReference>,
}

/// What a cluster is to have.
pub(super) struct ChartQuery {
    pub(super) cluster: TargetCluster,
    /// The name of its request.
    pub(super) request: String,
    pub(super) spec: Map<String, Value>,
    pub(super) digest: String,
}

/// Finds the clusters of a set, by name, with the rights of `cluster`.
///
/// # Errors
/// When Secrets cannot be listed, or a cluster is there twice or cannot be used.
pub(super) async fn find(
    cluster: &Cluster,
    namespace: &str,
    sources: &ClusterSources,
) -> Result<Vec<TargetCluster>, String> {
    let mut found = Vec::new();
    for listed in &sources.list {
        let (name, labels) = (listed.name.clone(), listed.labels.clone());
        found.push(TargetCluster { name, labels, secret: listed.secret_ref.clone() });
    }
    if let Some(source) = &sources.cluster_api {
        let clusters = list_cluster_api(cluster, namespace, &selector(&source.selector)?).await;
        let clusters =
            clusters.map_err(|error| format!("cannot list the clusters of Cluster API: {error}"))?;
        found.extend(clusters.iter().map(|object| {
            let secret = format!("{}-kubeconfig", object.name());
            let secret = SecretKeyReference { name: secret, key: Some("value".to_owned()) };
            TargetCluster { name: object.name().to_owned(), labels: labels(object), secret: Some(secret) }
        }));
    }
    if let Some(source) = &sources.secrets {
        let selector = selector(&source.selector)?;
        let all = match selector.selects_all() {
            true => CLUSTER_LABEL.to_owned(),
            false => format!("{CLUSTER_LABEL},{selector}"),
        };
        // Only metadata: kubeconfigs are read by the requests.
        let params = ListParams { labels: all, metadata_only: true, ..ListParams::default() };
        let secrets = cluster.list(&values::resource(ArchiveKind::Secret), namespace, &params).await;
        let secrets = secrets.map_err(|error| format!("cannot list the Secrets of clusters: {error}"))?;
        found.extend(secrets.iter().map(|secret| {
            let name = secret.label(CLUSTER_LABEL).unwrap_or_default().to_owned();
            let reference = SecretKeyReference { name: secret.name().to_owned(), key: None };
            TargetCluster { name, labels: labels(secret), secret: Some(reference) }
        }));
    }
    check(&mut found)?;
    Ok(found)
}

/// The clusters of Cluster API, in the newest version that the server has.
async fn list_cluster_api(
    cluster: &Cluster,
    namespace: &str,
    selector: &Selector,
) -> pintle::cluster::Result<Vec<Object>> {
    let params = ListParams { labels: selector.to_string(), metadata_only: true, ..ListParams::default() };
    let resource = |version| Resource::new("cluster.x-k8s.io", version, "Cluster", "clusters");
    match cluster.list(&resource("v1beta2"), namespace, &params).await {
        Err(error) if error.is_not_found() => cluster.list(&resource("v1beta1"), namespace, &params).await,
        listed => listed,
    }
}

fn labels(object: &Object) -> BTreeMap<String, String> {
    let object: Value = serde_json::from_slice(&object.to_json()).unwrap_or_default();
    serde_json::from_value(object["metadata"]["labels"].clone()).unwrap_or_default()
}

/// Sorts the clusters, and checks their names.
fn check(found: &mut [TargetCluster]) -> Result<(), String> {
    if found.len() > MAX_CLUSTERS {
        return Err(format!("{} clusters are selected, and a set may have {MAX_CLUSTERS}", found.len()));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    let mut names = BTreeSet::new();
    for cluster in found {
        let name = &cluster.name;
        let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_good) {
            return Err(format!(
                "`{name}` is no name of a cluster: lower-case letters, digits and `-`, at most {MAX_NAME}"
            ));
        }
        if !names.insert(name.clone()) {
            return Err(format!("cluster {name} is there twice"));
        }
        // Labels of a list are not checked by anybody else.
        cluster.labels.entry(CLUSTER_LABEL.to_owned()).or_insert_with(|| name.clone());
    }
    Ok(())
}

/// A selector.
///
/// # Errors
/// When an operator is unknown.
pub(super) fn selector(selector: &LabelSelector) -> Result<Selector, String> {
    Selector::try_from(selector.clone()).map_err(|error| error.to_string())
}

/// What each cluster is to have. Evaluates expressions, so not for a thread that others wait for.
///
/// # Errors
/// What is wrong with the spec.
pub(super) fn wanted(set: &HelmRequestSet, clusters: Vec<TargetCluster>) -> Result<Vec<ChartQuery>, String> {
    let layers = Layers::parse(&set.spec)?;
    let mut all = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        let mut spec = set.spec.template.spec.clone();
        spec.entry("releaseName").or_insert_with(|| set.name().into());
        if let Some(secret) = &cluster.secret {
            spec.insert("kubeConfig".to_owned(), json!({"secretRef": secret}));
        }
        let mut values = match spec.remove("values") {
            Some(Value::Object(values)) => values,
            _ => Map::new(),
        };
        layers.merge(&cluster, &mut values)?;
        if !values.is_empty() {
            spec.insert("values".to_owned(), values.into());
        }
        let digest = digest(&json!([spec, set.spec.template.metadata]));
        let request = request_name(set.name(), &cluster.name);
        all.push(ChartQuery { cluster, request, spec, digest });
    }
    if let Some(first) = all.first() {
        let decoded: Result<HelmRequestSpec, _> = serde_json::from_value(Value::Object(first.spec.clone()));
        decoded.map_err(|error| format!("spec.template.spec: {error}"))?;
    }
    Ok(all)
}

/// A digest of a JSON value, whose objects are sorted by key.
pub(super) fn digest(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string().as_bytes()))[..16].to_owned()
}

fn request_name(set: &str, cluster: &str) -> String {
    let name = format!("{set}-{cluster}");
    match name.len() <= MAX_NAME {
        true => name,
        false => {
            format!("{}-{}", name[..50].trim_end_matches(['-', '.']), &hex(&Sha256::digest(&name))[..12])
        }
    }
}

/// Values for some clusters.
struct Layer<'s> {
    selector: Option<Selector>,
    when: Option<Expression>,
    values: &'s Map<String, Value>,
}

/// The layers of values.
struct Layers<'s>(Vec<Layer<'s>>);

impl<'s> Layers<'s> {
    fn parse(spec: &'s SetSpec) -> Result<Layers<'s>, String> {
        let mut layers = Vec::new();
        for (index, layer) in spec.values.iter().enumerate() {
            let wrong = |field: &str, error: String| format!("spec.values[{index}].{field}: {error}");
            let parsed = layer.selector.as_ref().map(selector).transpose();
            let selector = parsed.map_err(|error| wrong("selector", error))?;
            let when = layer.when.as_deref().map(Expression::parse).transpose();
            let when = when.map_err(|error| wrong("when", error))?;
            layers.push(Layer { selector, when, values: &layer.values });
        }
        Ok(Layers(layers))
    }

    fn merge(&self, cluster: &TargetCluster, into: &mut Map<String, Value>) -> Result<(), String> {
        for (index, Layer { selector, when, values }) in self.0.iter().enumerate() {
            if selector.as_ref().is_some_and(|selector| !selector.matches(&cluster.labels)) {
                continue;
            }
            if let Some(when) = when {
                let variable = json!({"name": cluster.name, "labels": cluster.labels});
                let holds = when.evaluate([("cluster", variable)]);
                let holds = holds.map_err(|error| format!("spec.values[{index}].when: {error}"))?;
                if holds != Evaluation::True {
                    continue;
                }
            }
            merge(into, values);
        }
        Ok(())
    }
}

/// Merges values as files of values are merged: maps by key, and everything else is replaced.
fn merge(into: &mut Map<String, Value>, values: &Map<String, Value>) {
    for (key, value) in values {
        match (into.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(name: &str, labels: &[(&str, &str)]) -> TargetCluster {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        TargetCluster { name: name.to_owned(), labels, secret: None }
    }

    fn set(spec: Value) -> HelmRequestSet {
        let set = json!({"metadata": {"name": "web", "namespace": "apps"}, "spec": spec});
        serde_json::from_value(set).expect("a set")
    }

    #[test]
    fn values_of_a_cluster_are_merged_by_selector_and_expression() {
        let set = set(json!({
            "template": {"spec": {"values": {"a": {"x": 1, "y": 1}}}},
            "values": [
                {"selector": {"matchLabels": {"tier": "gold"}}, "values": {"a": {"x": 2}}},
                {"when": "cluster.name.startsWith('eu-') && 'tier' in cluster.labels", "values": {"a": {"y": 3}, "b": true}},
                {"values": {"c": 1}},
            ],
        }));
        let clusters = vec![cluster("eu-1", &[("tier", "gold")]), cluster("us-1", &[])];
        let wanted = wanted(&set, clusters).expect("it is good");
        assert_eq!(wanted[0].spec["values"], json!({"a": {"x": 2, "y": 3}, "b": true, "c": 1}));
        assert_eq!(wanted[1].spec["values"], json!({"a": {"x": 1, "y": 1}, "c": 1}));
        assert_eq!((wanted[0].request.as_str(), &wanted[0].spec["releaseName"]), ("web-eu-1", &json!("web")));
        assert_ne!(wanted[0].digest, wanted[1].digest);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |spec: Value| wanted(&set(spec), vec![cluster("a", &[])]).err().expect("it is wrong");
        assert!(error(json!({"values": [{"when": "1 +"}]})).starts_with("spec.values[0].when: "));
        assert!(
            error(json!({"template": {"spec": {"maxHistory": "x"}}})).starts_with("spec.template.spec: ")
        );
        for (names, part) in [(&["a", "a"][..], "twice"), (&["A"], "no name"), (&[""], "no name")] {
            let mut clusters: Vec<_> = names.iter().map(|name| cluster(name, &[])).collect();
            assert!(check(&mut clusters).expect_err("it is wrong").contains(part));
        }
    }

    #[test]
    fn the_name_of_a_request_is_never_too_long() {
        let long = request_name(&"s".repeat(53), &"c".repeat(63));
        assert_eq!(long.len(), 63);
        assert_ne!(long, request_name(&"s".repeat(53), &format!("{}d", "c".repeat(62))));
    }
}
