//! HelmReleases.

use pintle_tree::{Map, Node, ValuePath};
use sha2::{Digest as _, Sha256};

use super::{SOURCE, SourceOf, depends_on, repository};
use crate::app::{App, ChartApp, ChartSource, Content, Layer, LayerData, LayerKind, PostRender};
use crate::discovery::{Discovery, Item, Step, app_of};
use crate::{Place, SourceObject, join, secret};

/// Helm's limit for names of releases.
const MAX_RELEASE_NAME: usize = 53;
/// How much of a name that is too long stays in front of its hash.
const SHORTENED_NAME: usize = 40;

fn path(keys: &[&str]) -> ValuePath {
    keys.iter().fold(ValuePath::root(), |path, key| path.key(*key))
}

/// The name of the release of a HelmRelease or HelmRequest.
pub(crate) fn release_name(object: &SourceObject) -> String {
    if !object.text(&["spec", "releaseName"]).is_empty() {
        return object.text(&["spec", "releaseName"]).to_owned();
    }
    let name = match object.text(&["spec", "targetNamespace"]) {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}-{}", object.name()),
    };
    if name.len() <= MAX_RELEASE_NAME || !name.is_char_boundary(SHORTENED_NAME) {
        return name;
    }
    let digest = Sha256::digest(name.as_bytes());
    let digits: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digits}", &name[..SHORTENED_NAME])
}

/// Understands a HelmRelease.
pub(crate) fn helm_release(discovery: &mut Discovery<'_>, item: &Item, force: bool) -> Step {
    let object = &item.object;
    let chart = match chart(discovery, item) {
        Ok(chart) => chart,
        Err(Missing::Wait(reason)) if !force => return Step::Waits(reason),
        Err(Missing::Wait(reason) | Missing::Never(reason)) => {
            discovery.add_failed(item, reason);
            return Step::Done;
        }
    };
    let layers = match values_layers(discovery, item, force) {
        Ok(layers) => layers,
        Err(step) => return step,
    };
    let app = ChartApp {
        chart: chart.source,
        version_place: chart.place,
        release: release_name(object),
        namespace: release_namespace(object).to_owned(),
        layers,
        default_files: chart.default_files,
        ignores_missing: chart.ignores_missing,
        skip_crds: object.text(&["spec", "install", "crds"]) == "Skip"
            || object.at(&["spec", "install", "skipCRDs"]).and_then(Node::as_bool) == Some(true),
        skip_tests: false,
        skip_schema: object.at(&["spec", "install", "disableSchemaValidation"]).and_then(Node::as_bool)
            == Some(true),
        kube_version: String::new(),
        api_versions: Vec::new(),
        post: post_renderers(object),
    };
    let depends_on = depends_on(object, object.kind());
    let app = App { depends_on, ..app_of(item, Content::Chart(Box::new(app))) };
    discovery.add_app(app);
    Step::Done
}

/// The kustomizations that change what a release renders.
pub(crate) fn post_renderers(object: &SourceObject) -> Vec<PostRender> {
    let mut found = Vec::new();
    for (index, renderer) in object.list(&["spec", "postRenderers"]).iter().enumerate() {
        if let Some(Node::Map(kustomization)) = renderer.get("kustomize") {
            let place = object.place(&path(&["spec", "postRenderers"]).index(index));
            found.push(PostRender { kustomization: kustomization.clone(), place });
        }
    }
    found
}

struct Chart {
    source: ChartSource,
    place: Option<Place>,
    default_files: Vec<String>,
    ignores_missing: bool,
}

/// Why a chart is not known.
enum Missing {
    /// Its source may still be found.
    Wait(String),
    Never(String),
}

fn chart(discovery: &Discovery<'_>, item: &Item) -> Result<Chart, Missing> {
    let object = &item.object;
    if let Some(reference) = object.at(&["spec", "chartRef"]) {
        return referenced(discovery, item, reference);
    }
    let template = object.at(&["spec", "chart", "spec"]);
    let template = template.ok_or_else(|| Missing::Never("it names no chart".to_owned()))?;
    of_template(discovery, item, template, object, &["spec", "chart", "spec"])
}

/// The chart that a template of a HelmChart names.
fn of_template(
    discovery: &Discovery<'_>,
    item: &Item,
    template: &Node,
    holder: &SourceObject,
    at: &[&str],
) -> Result<Chart, Missing> {
    let text = |key: &str| template.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let reference = template.get("sourceRef").cloned().unwrap_or_default();
    let of_reference = |key: &str| reference.get(key).and_then(Node::as_str).unwrap_or_default();
    let (kind, name) = (of_reference("kind"), of_reference("name"));
    let namespace = match of_reference("namespace") {
        "" => holder.namespace(),
        namespace => namespace,
    };
    // Versions such as 1.10 are numbers in YAML if nobody quotes them.
    let version = template.get("version").map(super::scalar).unwrap_or_default();
    let source = match kind {
        "HelmRepository" => {
            let found = discovery.object(&item.cluster, SOURCE, kind, namespace, name);
            let found = found.ok_or_else(|| {
                Missing::Wait(format!("HelmRepository {namespace}/{name} is not in the repository"))
            })?;
            in_repository(found, &text("chart"), &version)
        }
        "GitRepository" => match repository(discovery, item, &reference) {
            SourceOf::Own => {
                let folder = join("", &text("chart"));
                ChartSource::Folder(
                    folder
                        .ok_or_else(|| Missing::Never("its chart is outside of the repository".to_owned()))?,
                )
            }
            SourceOf::Other(url, reference) => ChartSource::Git { url, reference, path: text("chart") },
        },
        other => return Err(Missing::Never(format!("charts in a {other} are not fetched"))),
    };
    let list = |key: &str| -> Vec<String> {
        let items = template.get(key).and_then(Node::as_list).unwrap_or_default();
        items.iter().filter_map(Node::as_str).map(str::to_owned).collect()
    };
    Ok(Chart {
        place: holder.place(&path(at).key(if version.is_empty() { "chart" } else { "version" })),
        default_files: list("valuesFiles"),
        ignores_missing: template.get("ignoreMissingValuesFiles").and_then(Node::as_bool) == Some(true),
        source,
    })
}

fn in_repository(found: &SourceObject, name: &str, version: &str) -> ChartSource {
    let url = found.text(&["spec", "url"]).trim_end_matches('/').to_owned();
    match found.text(&["spec", "type"]) == "oci" || url.starts_with("oci://") {
        true => ChartSource::Oci {
            url: format!("{url}/{name}"),
            version: version.to_owned(),
            digest: String::new(),
        },
        false => ChartSource::Http { url, name: name.to_owned(), version: version.to_owned() },
    }
}

fn referenced(discovery: &Discovery<'_>, item: &Item, reference: &Node) -> Result<Chart, Missing> {
    let text = |key: &str| reference.get(key).and_then(Node::as_str).unwrap_or_default();
    let namespace = match text("namespace") {
        "" => item.object.namespace(),
        namespace => namespace,
    };
    let (kind, name) = (text("kind"), text("name"));
    let found = discovery.object(&item.cluster, SOURCE, kind, namespace, name);
    let found =
        found.ok_or_else(|| Missing::Wait(format!("{kind} {namespace}/{name} is not in the repository")))?;
    match kind {
        "OCIRepository" => {
            let of = |key: &str| found.text(&["spec", "ref", key]).to_owned();
            let chosen = ["digest", "semver", "tag"].into_iter().find(|key| !of(key).is_empty());
            let version = match of("semver") {
                version if version.is_empty() => of("tag"),
                version => version,
            };
            let source = ChartSource::Oci {
                url: found.text(&["spec", "url"]).to_owned(),
                version,
                digest: of("digest"),
            };
            let place = found.place(&path(&["spec", "ref"]).key(chosen.unwrap_or_default()));
            Ok(Chart { source, place, default_files: Vec::new(), ignores_missing: false })
        }
        "HelmChart" => {
            let template = found.at(&["spec"]).cloned().unwrap_or_default();
            let found = found.clone();
            of_template(discovery, item, &template, &found, &["spec"])
        }
        other => Err(Missing::Never(format!("charts in a {other} are not fetched"))),
    }
}

/// The namespace of the release of a HelmRelease or HelmRequest.
pub(crate) fn release_namespace(object: &SourceObject) -> &str {
    match object.text(&["spec", "targetNamespace"]) {
        "" => object.namespace(),
        namespace => namespace,
    }
}

/// The layers of values of a HelmRelease or HelmRequest. Without them, the error says whether to wait for objects that may still
/// be found; with `force` the app is reported instead.
pub(crate) fn values_layers(
    discovery: &mut Discovery<'_>,
    item: &Item,
    force: bool,
) -> Result<Vec<Layer>, Step> {
    read_layers(discovery, item, force).map_err(|reason| match force {
        false => Step::Waits(reason),
        true => {
            discovery.add_failed(item, reason);
            Step::Done
        }
    })
}

/// The layers of values: objects in their order, then the values written down, then what goes to a path.
///
/// # Errors
/// What is missing.
fn read_layers(discovery: &mut Discovery<'_>, item: &Item, force: bool) -> Result<Vec<Layer>, String> {
    let object = &item.object;
    let mut layers = Vec::new();
    let mut targeted = Vec::new();
    for (index, reference) in object.list(&["spec", "valuesFrom"]).iter().enumerate() {
        let text = |key: &str| reference.get(key).and_then(Node::as_str).unwrap_or_default();
        let (kind, name) = (text("kind"), text("name"));
        let is_optional = reference.get("optional").and_then(Node::as_bool) == Some(true);
        let found = match discovery.object(&item.cluster, "", kind, object.namespace(), name) {
            Some(found) => found.clone(),
            None if is_optional && force => continue,
            None if is_optional => return Err(format!("{kind} {name} may still be found")),
            None => {
                return Err(format!(
                    "{kind} {name} in namespace {}, which it takes values from, is not in the repository",
                    object.namespace()
                ));
            }
        };
        let key = match text("valuesKey") {
            "" => "values.yaml",
            key => key,
        };
        let found = with_text(discovery, found, key);
        let layer_kind = if kind == "Secret" { LayerKind::Secret } else { LayerKind::ConfigMap };
        let Some(data) = secret::data(&found, key) else {
            if secret::is_open(&found) {
                let place = object.place(&path(&["spec", "valuesFrom"]).index(index));
                let text =
                    format!("the values in key {key} of Secret {name} are known only to its external store");
                discovery.note(crate::NoteKind::LeftOut, place, text);
                continue;
            }
            return Err(format!("{kind} {name} has no key {key}"));
        };
        match text("targetPath") {
            "" => layers.push(values_layer(&found, layer_kind, key, &data)?),
            target => {
                let literal = reference.get("literal").and_then(Node::as_bool) == Some(true);
                targeted.push(target_layer(&found, layer_kind, (key, target, literal), &data));
            }
        }
    }
    if let Some(Node::Map(values)) = object.at(&["spec", "values"]) {
        layers.push(Layer {
            kind: LayerKind::Inline,
            name: format!("{} {}", object.kind(), object.name()),
            data: LayerData::Tree(values.clone()),
            object: Some((Box::new(object.clone()), path(&["spec", "values"]))),
            text: None,
        });
    }
    layers.append(&mut targeted);
    Ok(layers)
}

/// The object, with the file whose content a generator put into a key as its text.
fn with_text(discovery: &Discovery<'_>, mut found: SourceObject, key: &str) -> SourceObject {
    if found.built.is_some()
        && let Some(data) = secret::data(&found, key)
        && let Some(file) = discovery.file_with(&data)
    {
        found.generated_from = Some(file);
    }
    found
}

fn values_layer(found: &SourceObject, kind: LayerKind, key: &str, data: &[u8]) -> Result<Layer, String> {
    let name = format!("{} {}", found.kind(), found.name());
    let values = match secret::PREFIX.as_bytes() {
        // What is in an encrypted file is not known.
        prefix if data.starts_with(prefix) => Map::new(),
        _ => pintle_yaml::read_values(data).map_err(|error| format!("{name}: {key}: {error}"))?,
    };
    // The text of a key begins in the line after the key, as far as YAML's block scalars are used.
    let place = found.place(&path(&["data"]).key(key));
    let text = match &found.generated_from {
        Some(file) => Some((Place { file: file.clone(), line: 1 }, data.to_vec())),
        None => place.map(|place| (Place { line: place.line + 1, ..place }, data.to_vec())),
    };
    let object = Some((Box::new(found.clone()), path(&["data"]).key(key)));
    Ok(Layer { kind, name, data: LayerData::Tree(values), object, text })
}

fn target_layer(
    found: &SourceObject,
    kind: LayerKind,
    (key, target, literal): (&str, &str, bool),
    data: &[u8],
) -> Layer {
    Layer {
        kind,
        name: format!("{} {}", found.kind(), found.name()),
        data: LayerData::Set {
            path: target.to_owned(),
            value: String::from_utf8_lossy(data).into_owned(),
            literal,
            string: false,
        },
        object: Some((Box::new(found.clone()), path(&["data"]).key(key))),
        text: None,
    }
}
