//! Exports existing releases as HelmRequests: a release of the command line, or a HelmRelease of Flux.

use pintle::Session;
use pintle::cluster::{Cluster, Resource};
use pintle::objects::Object;
use pintle::release::{ChartSource as RecordedSource, ReleaseVersion, VersionRef};
use pintle_tree::{Map, Node};
use serde_json::{Value, json};

/// A request, with notes on what could not be converted.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The request.
    pub request: Value,
    /// What the user has to decide or check.
    pub notes: Vec<String>,
}

/// Why an export failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The object or the given source cannot be converted.
    #[error("{0}")]
    Unsupported(String),
    /// The source of the chart is not recorded, so the caller has to give it.
    #[error("{0}")]
    UnknownSource(String),
    /// A source is given for several HelmReleases.
    #[error("{text} has {count} HelmReleases, and the given source is for one")]
    SeveralReleases {
        /// The name of the text.
        text: String,
        /// How many there are.
        count: usize,
    },
    /// There is no such HelmRelease.
    #[error("there is no HelmRelease `{name}` in namespace `{namespace}`")]
    NoHelmRelease {
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
    },
}

/// Why an export from a cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterExportError {
    /// The release or the HelmRelease cannot be read.
    #[error(transparent)]
    Read(#[from] Box<pintle::Error>),
    /// It was read, and cannot be converted.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// A request that adopts a release in the cluster of a session.
///
/// # Errors
/// When the release cannot be read, and as [`from_release`].
pub async fn release_on_cluster(
    session: &Session,
    namespace: &str,
    name: &str,
    given: &GivenSource,
) -> Result<Exported, ClusterExportError> {
    let version = pintle::ops::get(session, namespace, name, &VersionRef::Current).await.map_err(Box::new)?;
    Ok(from_release(&version, given)?)
}

/// A request that takes over a HelmRelease of Flux in the cluster, which is read with the source that it refers to.
///
/// # Errors
/// When there is no such HelmRelease, and as [`from_flux`].
pub async fn flux_on_cluster(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    given: &GivenSource,
) -> Result<Exported, ClusterExportError> {
    let resource = Resource::new("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases");
    let found = cluster.get_by_name(&resource, namespace, name).await;
    let missing = || ExportError::NoHelmRelease { name: name.to_owned(), namespace: namespace.to_owned() };
    let release = found.map_err(|error| Box::new(error.into()))?.ok_or_else(missing)?;
    let mut sources = Vec::new();
    for at in [&["spec", "chartRef"][..], &["spec", "chart", "spec", "sourceRef"]] {
        let field = |key: &str| release.text(&[at, &[key]].concat()).to_owned();
        let plural = match field("kind").as_str() {
            "HelmRepository" => "helmrepositories",
            "OCIRepository" => "ocirepositories",
            _ => continue,
        };
        let home = field("namespace");
        let home = if home.is_empty() { namespace } else { &home };
        let resource = Resource::new("source.toolkit.fluxcd.io", "v1", &field("kind"), plural);
        // A source that cannot be read is noted by the conversion.
        sources.extend(cluster.get_by_name(&resource, home, &field("name")).await.ok().flatten());
    }
    Ok(from_flux(&release, &sources, given)?)
}

/// Requests that take over all HelmReleases of a text, with the sources of the same text.
///
/// # Errors
/// When the text has no HelmRelease, or several and a source is given; and as [`from_flux`].
pub fn flux_in_text(text: &[u8], name: &str, given: &GivenSource) -> Result<Vec<Exported>, ExportError> {
    let objects =
        Object::read_manifest(text, name).map_err(|error| ExportError::Unsupported(error.to_string()))?;
    let releases: Vec<&Object> = objects.iter().filter(|object| object.kind() == "HelmRelease").collect();
    match releases.len() {
        0 => return Err(ExportError::Unsupported(format!("{name} has no HelmRelease"))),
        1 => {}
        count if *given != GivenSource::default() => {
            return Err(ExportError::SeveralReleases { text: name.to_owned(), count });
        }
        _ => {}
    }
    releases.into_iter().map(|release| from_flux(release, &objects, given)).collect()
}

/// Where the chart comes from, given by the user instead of found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenSource {
    /// The URL of an archive or of a chart in a registry, or the name of a chart in `repository`.
    pub chart: String,
    /// The URL of a repository.
    pub repository: String,
}

impl GivenSource {
    /// The source of a chart with this name, or `None` if nothing was given.
    fn chart(&self, name: &str, version: &str) -> Result<Option<Value>, ExportError> {
        let is_url = self.chart.contains("://");
        let mut chart = match (self.repository.as_str(), self.chart.as_str()) {
            ("", "") => return Ok(None),
            ("", url) if is_url => json!({"url": url}),
            (repository, "") => json!({"repository": repository, "name": name}),
            ("", other) => {
                let text = format!("`{other}` is no URL, and no repository is given to find it in");
                return Err(ExportError::Unsupported(text));
            }
            (_, url) if is_url => {
                return Err(ExportError::Unsupported(format!("{url} is a URL, and needs no repository")));
            }
            (repository, name) => json!({"repository": repository, "name": name}),
        };
        let is_archive = is_url && !self.chart.starts_with("oci://");
        if !is_archive && !version.is_empty() {
            chart["version"] = version.into();
        }
        Ok(Some(chart))
    }
}

/// A request that adopts a release. Chart and values are those of the release, so that only the labels of the request are new.
///
/// # Errors
/// When neither the record nor `given` says where the chart comes from.
pub fn from_release(version: &ReleaseVersion, given: &GivenSource) -> Result<Exported, ExportError> {
    let (name, number) = (&version.chart.metadata.name, &version.chart.metadata.version);
    let chart = match (given.chart(name, number)?, RecordedSource::of(&version.chart)) {
        (Some(given), _) => given,
        (None, Some(source)) => recorded_chart(&source, name, number),
        (None, None) => {
            let text = format!("the record does not say where chart {name}-{number} came from");
            return Err(ExportError::UnknownSource(text));
        }
    };
    let mut spec = json!({"chart": chart, "releaseName": version.name, "interval": "10m"});
    let values = version.config.as_ref().filter(|values| !values.is_empty()).and_then(to_value);
    if let Some(values) = values {
        spec["values"] = values;
    }
    let request = request(&version.name, &version.namespace, spec);
    Ok(Exported { request, notes: Vec::new() })
}

fn recorded_chart(source: &RecordedSource, name: &str, number: &str) -> Value {
    if !source.repository.is_empty() {
        return json!({"repository": source.repository, "name": name, "version": number});
    }
    if !source.url.starts_with("oci://") {
        return json!({"url": source.url});
    }
    let url = source.url.split('@').next().unwrap_or_default();
    let end = url.rfind(':').filter(|at| !url[*at..].contains('/')).unwrap_or(url.len());
    json!({"url": url[..end], "version": number})
}

fn request(name: &str, namespace: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "helm.sh/v3",
        "kind": "HelmRequest",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    })
}

fn to_value(map: &Map<Node>) -> Option<Value> {
    serde_json::from_slice(&pintle_tree::json::write_raw(map).ok()?).ok()
}

/// Fields that are the same in a HelmRelease and a HelmRequest.
const SAME: [&str; 12] = [
    "releaseName",
    "targetNamespace",
    "storageNamespace",
    "interval",
    "timeout",
    "maxHistory",
    "suspend",
    "serviceAccountName",
    "values",
    "valuesFrom",
    "commonMetadata",
    "healthCheckExprs",
];

/// Fields that have no counterpart.
const UNKNOWN: [&str; 3] = ["waitStrategy", "persistentClient", "postRenderStrategy"];

/// A request for a HelmRelease. `sources` are the HelmRepositories and OCIRepositories that it may refer to; `given` is taken
/// instead of them.
///
/// # Errors
/// When it is not a HelmRelease of a supported version, or the source of its chart is not known.
pub fn from_flux(release: &Object, sources: &[Object], given: &GivenSource) -> Result<Exported, ExportError> {
    if release.kind() != "HelmRelease" || !release.api_version().starts_with("helm.toolkit.fluxcd.io/") {
        let text = format!("{} {} is no HelmRelease of Flux", release.kind(), release.name());
        return Err(ExportError::Unsupported(text));
    }
    let json: Value = serde_json::from_slice(&release.to_json())
        .map_err(|error| ExportError::Unsupported(error.to_string()))?;
    let old = &json["spec"];
    let mut notes = Vec::new();
    let (name, version) = (text(&old["chart"]["spec"]["chart"]), flux_version(old));
    let name = name.rsplit('/').next().unwrap_or_default();
    let chart = match given.chart(name, version)? {
        Some(given) => given,
        None => flux_chart(release, old, sources, &mut notes)?,
    };
    if old["chart"]["spec"].get("valuesFiles").is_some() {
        notes.push("spec.chart.spec.valuesFiles has no counterpart; use valuesFrom".to_owned());
    }
    let mut spec = json!({ "chart": chart });
    for field in SAME {
        if let Some(value) = old.get(field) {
            spec[field] = value.clone();
        }
    }
    for field in UNKNOWN.iter().filter(|field| old.get(**field).is_some()) {
        notes.push(format!("spec.{field} has no counterpart and was left out"));
    }
    if let Some(config) = old.get("kubeConfig") {
        match config.get("secretRef") {
            Some(_) => spec["kubeConfig"] = config.clone(),
            None => notes.push("spec.kubeConfig.configMapRef has no counterpart and was left out".to_owned()),
        }
    }
    if let Some(dependencies) = old.get("dependsOn") {
        spec["dependsOn"] = dependencies.clone();
        notes.push("spec.dependsOn names HelmRequests now; export these, too".to_owned());
    }
    let renderers = old.get("postRenderers").and_then(Value::as_array).into_iter().flatten();
    let renderers: Vec<Value> = renderers.filter_map(|renderer| renderer.get("kustomize").cloned()).collect();
    if !renderers.is_empty() {
        spec["postRenderers"] = renderers.into();
    }
    for operation in ["install", "upgrade", "rollback", "uninstall", "test", "driftDetection"] {
        if let Some(options) = old.get(operation) {
            spec[operation] = flux_options(operation, options, &mut notes);
        }
    }
    defaults_of_flux(&mut spec);
    Ok(Exported { request: request(release.name(), release.namespace(), spec), notes })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The version or range; empty for any.
fn flux_version(old: &Value) -> &str {
    Some(text(&old["chart"]["spec"]["version"])).filter(|version| *version != "*").unwrap_or_default()
}

fn flux_chart(
    release: &Object,
    old: &Value,
    sources: &[Object],
    notes: &mut Vec<String>,
) -> Result<Value, ExportError> {
    let is_ref = old.get("chartRef").is_some();
    let reference = if is_ref { &old["chartRef"] } else { &old["chart"]["spec"]["sourceRef"] };
    let (kind, name) = (text(&reference["kind"]), text(&reference["name"]));
    let namespace = reference["namespace"].as_str().unwrap_or(release.namespace());
    if !matches!(kind, "HelmRepository" | "OCIRepository") {
        let text = format!("its chart is in the {kind} {namespace}/{name}, which a HelmRequest cannot read");
        return Err(ExportError::UnknownSource(text));
    }
    let matches = |source: &&Object| {
        source.kind() == kind
            && source.name() == name
            && (source.namespace() == namespace || source.namespace().is_empty())
    };
    let source = sources.iter().find(matches).ok_or_else(|| {
        ExportError::UnknownSource(format!("{kind} {namespace}/{name}, which has its chart, was not found"))
    })?;
    let url = source.text(&["spec", "url"]);
    let mut chart = match kind {
        "OCIRepository" => {
            let field = |key: &str| Some(source.text(&["spec", "ref", key])).filter(|text| !text.is_empty());
            let mut chart = json!({"url": url});
            if let Some(version) = field("semver").or_else(|| field("tag")) {
                chart["version"] = version.into();
            }
            chart
        }
        _ => {
            let mut chart = json!({"repository": url, "name": text(&old["chart"]["spec"]["chart"])});
            if !flux_version(old).is_empty() {
                chart["version"] = flux_version(old).into();
            }
            chart
        }
    };
    let secret = source.text(&["spec", "secretRef", "name"]);
    if !secret.is_empty() {
        chart["credentials"] = json!({"name": secret});
    }
    if source.at(&["spec", "insecure"]).and_then(Node::as_bool) == Some(true) {
        chart["plainHTTP"] = true.into();
    }
    if let Some(verify) = flux_verification(old, source, notes) {
        chart["verify"] = verify;
    }
    Ok(chart)
}

/// How the signature of the chart is verified: the HelmRelease says so, or an OCIRepository.
fn flux_verification(old: &Value, source: &Object, notes: &mut Vec<String>) -> Option<Value> {
    let of_source = source.at(&["spec", "verify"]).map(|_| {
        let at = |path: &[&str]| source.text(&[&["spec", "verify"], path].concat()).to_owned();
        (at(&["provider"]), at(&["secretRef", "name"]))
    });
    let of_release = old["chart"]["spec"]
        .get("verify")
        .map(|verify| (text(&verify["provider"]).to_owned(), text(&verify["secretRef"]["name"]).to_owned()));
    let (provider, secret) = of_release.or(of_source)?;
    if provider != "cosign" || secret.is_empty() {
        notes.push(format!(
            "signatures by {provider} without a key in a Secret have no counterpart; set spec.chart.verify"
        ));
        return None;
    }
    Some(json!({"provider": "cosign", "secretRef": {"name": secret}}))
}

fn flux_options(operation: &str, options: &Value, notes: &mut Vec<String>) -> Value {
    let mut options = options.clone();
    let Some(map) = options.as_object_mut() else { return options };
    for field in ["serverSideApply", "replace", "chartNameChangeStrategy"] {
        if map.remove(field).is_some() {
            notes.push(format!("spec.{operation}.{field} has no counterpart and was left out"));
        }
    }
    // Taking ownership is opt-out in Flux, and opt-in in a HelmRequest.
    if matches!(operation, "install" | "upgrade") {
        let is_disabled = map.remove("disableTakeOwnership") == Some(true.into());
        map.insert("takeOwnership".to_owned(), (!is_disabled).into());
    }
    match map.get("crds").and_then(Value::as_str) {
        Some("CreateReplace") if operation == "upgrade" => {
            drop(map.insert("crds".to_owned(), "Apply".into()))
        }
        Some("CreateReplace") => drop(map.insert("crds".to_owned(), "Create".into())),
        Some("Create") if operation == "upgrade" => drop(map.insert("crds".to_owned(), "Skip".into())),
        _ => {}
    }
    options
}

/// Sets the defaults of Flux that differ from those of a HelmRequest.
fn defaults_of_flux(spec: &mut Value) {
    for operation in ["install", "upgrade"] {
        if spec.get(operation).is_none() {
            spec[operation] = json!({"takeOwnership": true});
        }
        if spec[operation].get("strategy").is_none() {
            spec[operation]["strategy"] = json!({"name": "RemediateOnFailure"});
        }
    }
    spec["upgrade"]["forceConflicts"] = true.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLUX: &str = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  chart: {spec: {chart: web, version: ^1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}
  interval: 5m
  values: {replicas: 2}
  install: {disableTakeOwnership: true}
  upgrade: {crds: CreateReplace, remediation: {retries: 3}, serverSideApply: auto}
  postRenderers: [{kustomize: {images: [{name: nginx, newTag: '2'}]}}]
  waitStrategy: {name: poller}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: apps}
spec: {url: 'https://charts.example.com', secretRef: {name: login}}
";

    #[test]
    fn a_helm_release_becomes_a_request_that_behaves_the_same() {
        let objects = Object::read_manifest(FLUX.as_bytes(), "flux").expect("valid");
        let exported = from_flux(&objects[0], &objects[1..], &GivenSource::default()).expect("converted");
        let spec = &exported.request["spec"];
        assert_eq!(
            spec["chart"],
            json!({"repository": "https://charts.example.com", "name": "web", "version": "^1.0.0", "credentials": {"name": "login"}})
        );
        assert_eq!(spec["upgrade"]["crds"], "Apply");
        assert_eq!(
            (&spec["install"]["takeOwnership"], &spec["upgrade"]["takeOwnership"]),
            (&false.into(), &true.into())
        );
        assert_eq!(spec["upgrade"]["strategy"]["name"], "RemediateOnFailure");
        assert_eq!(spec["upgrade"]["forceConflicts"], true);
        assert_eq!(spec["postRenderers"][0]["images"][0]["newTag"], "2");
        assert_eq!(
            exported.notes,
            [
                "spec.waitStrategy has no counterpart and was left out",
                "spec.upgrade.serverSideApply has no counterpart and was left out"
            ]
        );
        let request: crate::request::HelmRequest =
            serde_json::from_value(exported.request).expect("a request");
        assert_eq!(request.spec.validate(), Ok(()));
        assert_eq!(request.release_name(), "web");
    }

    #[test]
    fn a_source_that_is_missing_has_to_be_given() {
        let objects = Object::read_manifest(FLUX.as_bytes(), "flux").expect("valid");
        let none = GivenSource::default();
        let missing = from_flux(&objects[0], &[], &none).expect_err("nothing says where the chart is");
        assert_eq!(
            missing,
            ExportError::UnknownSource(
                "HelmRepository apps/charts, which has its chart, was not found".to_owned()
            )
        );
        assert!(matches!(from_flux(&objects[1], &[], &none), Err(ExportError::Unsupported(_))));
        let given = |chart: &str, repository: &str| {
            let given = GivenSource { chart: chart.to_owned(), repository: repository.to_owned() };
            from_flux(&objects[0], &[], &given).map(|exported| exported.request["spec"]["chart"].clone())
        };
        assert_eq!(
            given("", "https://charts.example.com"),
            Ok(json!({"repository": "https://charts.example.com", "name": "web", "version": "^1.0.0"}))
        );
        assert_eq!(
            given("front", "oci://registry.example.com/charts"),
            Ok(
                json!({"repository": "oci://registry.example.com/charts", "name": "front", "version": "^1.0.0"})
            )
        );
        assert_eq!(
            given("oci://registry.example.com/web", ""),
            Ok(json!({"url": "oci://registry.example.com/web", "version": "^1.0.0"}))
        );
        assert_eq!(
            given("https://example.com/web-1.2.3.tgz", ""),
            Ok(json!({"url": "https://example.com/web-1.2.3.tgz"}))
        );
        assert!(matches!(given("web", ""), Err(ExportError::Unsupported(_))));
        assert!(matches!(given("oci://a/b", "https://c"), Err(ExportError::Unsupported(_))));
    }

    #[test]
    fn signatures_and_plain_http_come_with_the_source() {
        let text = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec: {interval: 5m, chartRef: {kind: OCIRepository, name: web}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web, namespace: apps}
spec: {url: 'oci://r.example.com/web', ref: {tag: 1.2.3}, insecure: true, verify: {provider: cosign, secretRef: {name: keys}}}
";
        let chart = |text: &str| {
            let objects = Object::read_manifest(text.as_bytes(), "flux").expect("valid");
            let exported = from_flux(&objects[0], &objects[1..], &GivenSource::default()).expect("converted");
            (exported.request["spec"]["chart"].clone(), exported.notes)
        };
        let (found, notes) = chart(text);
        assert_eq!(
            found,
            json!({"url": "oci://r.example.com/web", "version": "1.2.3", "plainHTTP": true,
                "verify": {"provider": "cosign", "secretRef": {"name": "keys"}}})
        );
        assert_eq!(notes, [] as [&str; 0]);
        let (found, notes) = chart(&text.replace(", secretRef: {name: keys}", ""));
        assert_eq!(found.get("verify"), None);
        assert_eq!(notes.len(), 1, "{notes:?}");
    }

    #[test]
    fn a_chart_in_git_has_to_be_published_first() {
        let text = FLUX.replace("kind: HelmRepository, name", "kind: GitRepository, name");
        let objects = Object::read_manifest(text.as_bytes(), "flux").expect("valid");
        let refused =
            from_flux(&objects[0], &objects[1..], &GivenSource::default()).expect_err("it is in git");
        assert_eq!(
            refused.to_string(),
            "its chart is in the GitRepository apps/charts, which a HelmRequest cannot read"
        );
    }

    #[test]
    fn a_release_has_the_source_of_its_record() {
        let recorded = |url: &str, repository: &str| {
            let mut version = ReleaseVersion { name: "web".to_owned(), ..ReleaseVersion::default() };
            version.chart.metadata.name = "nginx".to_owned();
            version.chart.metadata.version = "1.2.3".to_owned();
            let source = RecordedSource {
                url: url.to_owned(),
                repository: repository.to_owned(),
                digest: String::new(),
            };
            if !url.is_empty() {
                source.record(&mut version.chart);
            }
            from_release(&version, &GivenSource::default())
                .map(|exported| exported.request["spec"]["chart"].clone())
        };
        assert_eq!(
            recorded("https://charts.example.com/nginx-1.2.3.tgz", "https://charts.example.com"),
            Ok(json!({"repository": "https://charts.example.com", "name": "nginx", "version": "1.2.3"}))
        );
        assert_eq!(
            recorded("oci://registry.example.com:5000/nginx:1.2.3@sha256:abc", ""),
            Ok(json!({"url": "oci://registry.example.com:5000/nginx", "version": "1.2.3"}))
        );
        assert_eq!(
            recorded("https://example.com/nginx.tgz", ""),
            Ok(json!({"url": "https://example.com/nginx.tgz"}))
        );
        assert!(matches!(recorded("", ""), Err(ExportError::UnknownSource(_))));
    }
}
