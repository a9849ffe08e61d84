//! Argo CD: Applications, and the ApplicationSets that make them.

mod generate;
mod template;

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, ValuePath};

use crate::app::{App, AppId, ChartApp, ChartSource, Content, Layer, LayerData, LayerKind, PostRender};
use crate::discovery::{Discovery, Item, Step, app_of};
use crate::document::{is_yaml, objects};
use crate::{NoteKind, Place, SourceObject, join};

/// The annotation with the order of synchronization.
const WAVE: &str = "argocd.argoproj.io/sync-wave";

fn path(keys: &[&str]) -> ValuePath {
    keys.iter().fold(ValuePath::root(), |path, key| path.key(*key))
}

fn text<'n>(node: &'n Node, keys: &[&str]) -> &'n str {
    keys.iter().try_fold(node, |node, key| node.get(*key)).and_then(Node::as_str).unwrap_or_default()
}

fn flag(node: &Node, keys: &[&str]) -> bool {
    keys.iter().try_fold(node, |node, key| node.get(*key)).and_then(Node::as_bool) == Some(true)
}

fn list<'n>(node: &'n Node, keys: &[&str]) -> &'n [Node] {
    keys.iter().try_fold(node, |node, key| node.get(*key)).and_then(Node::as_list).unwrap_or_default()
}

/// Makes the Applications of an ApplicationSet.
pub(crate) fn application_set(discovery: &mut Discovery<'_>, item: &Item) -> Step {
    let made = generate::applications(discovery, &item.object);
    match made {
        Ok(made) => {
            for object in made {
                discovery.add_object(&item.cluster, object);
            }
        }
        Err(reason) => {
            let text = format!("ApplicationSet {} is not resolved: {reason}", item.object.name());
            discovery.note(NoteKind::LeftOut, Some(item.object.start()), text);
        }
    }
    Step::Done
}

/// One source of an Application.
struct Source<'n> {
    node: &'n Node,
    at: ValuePath,
}

/// Understands an Application.
pub(crate) fn application(discovery: &mut Discovery<'_>, item: &Item) -> Step {
    let object = &item.object;
    let sources = sources(object);
    if sources.is_empty() {
        discovery.add_failed(item, "it has no source");
        return Step::Done;
    }
    let destination = match destination(object) {
        own if own.is_empty() => item.cluster.clone(),
        named => named,
    };
    // What `$name/` in names of values files means.
    let mut references: BTreeMap<String, &Node> = BTreeMap::new();
    for source in sources.iter().filter(|source| !text(source.node, &["ref"]).is_empty()) {
        references.insert(text(source.node, &["ref"]).to_owned(), source.node);
    }
    let parts: Vec<&Source<'_>> = sources
        .iter()
        .filter(|source| {
            !(text(source.node, &["chart"]).is_empty()
                && text(source.node, &["path"]).is_empty()
                && !text(source.node, &["ref"]).is_empty())
        })
        .collect();
    let several = parts.len() > 1;
    for (index, source) in parts.into_iter().enumerate() {
        let content = content(discovery, item, source, &references);
        let content = content.unwrap_or_else(Content::Unknown);
        let id = AppId {
            cluster: destination.clone(),
            // Several sources of one Application are rendered one by one.
            name: if several { format!("{}[{index}]", object.name()) } else { object.name().to_owned() },
            ..app_of(item, Content::Objects(Vec::new())).id
        };
        let found = match &content {
            Content::Objects(objects) => objects.clone(),
            _ => Vec::new(),
        };
        let wave = object.text(&["metadata", "annotations", WAVE]).parse().unwrap_or(0);
        let app = App { id, wave, ..app_of(item, content) };
        if discovery.add_app(app) {
            found.into_iter().for_each(|found| discovery.add_object(&item.cluster, found));
        }
    }
    Step::Done
}

fn sources(object: &SourceObject) -> Vec<Source<'_>> {
    let several = object.list(&["spec", "sources"]);
    if !several.is_empty() {
        let at = path(&["spec", "sources"]);
        return several
            .iter()
            .enumerate()
            .map(|(index, node)| Source { node, at: at.index(index) })
            .collect();
    }
    let dry = object.at(&["spec", "sourceHydrator", "drySource"]);
    let dry = dry.map(|node| Source { node, at: path(&["spec", "sourceHydrator", "drySource"]) });
    let one = object.at(&["spec", "source"]).map(|node| Source { node, at: path(&["spec", "source"]) });
    one.or(dry).into_iter().collect()
}

fn destination(object: &SourceObject) -> String {
    let name = object.text(&["spec", "destination", "name"]);
    let server = object.text(&["spec", "destination", "server"]);
    match (name, server) {
        ("in-cluster" | "", "https://kubernetes.default.svc" | "") => String::new(),
        ("", server) => server.trim_start_matches("https://").to_owned(),
        (name, _) => name.to_owned(),
    }
}

fn content(
    discovery: &mut Discovery<'_>,
    item: &Item,
    source: &Source<'_>,
    references: &BTreeMap<String, &Node>,
) -> Result<Content, String> {
    let node = source.node;
    if let Some(Node::Map(_)) = node.get("plugin") {
        return Err("it is rendered by a plugin, which is not run".to_owned());
    }
    let url = text(node, &["repoURL"]);
    let revision = text(node, &["targetRevision"]);
    let namespace = item.object.text(&["spec", "destination", "namespace"]).to_owned();
    let chart_name = text(node, &["chart"]);
    if !chart_name.is_empty() {
        // A registry is named without a scheme, unlike a repository.
        let chart = match url.contains("://") && !url.starts_with("oci://") {
            true => ChartSource::Http {
                url: url.to_owned(),
                name: chart_name.to_owned(),
                version: revision.to_owned(),
            },
            false => ChartSource::Oci {
                url: format!("oci://{}/{chart_name}", url.trim_start_matches("oci://").trim_end_matches('/')),
                version: revision.to_owned(),
                digest: String::new(),
            },
        };
        return chart_content(discovery, item, source, references, (chart, namespace));
    }
    let folder = text(node, &["path"]);
    if url.starts_with("oci://") {
        let chart =
            ChartSource::Oci { url: url.to_owned(), version: revision.to_owned(), digest: String::new() };
        return chart_content(discovery, item, source, references, (chart, namespace));
    }
    if !is_own_source(discovery, node) {
        let chart =
            ChartSource::Git { url: url.to_owned(), reference: revision.to_owned(), path: folder.to_owned() };
        return chart_content(discovery, item, source, references, (chart, namespace));
    }
    let folder = join("", folder).ok_or_else(|| format!("its path {folder} leads out of the repository"))?;
    if discovery.files.is_file(&format!("{folder}/Chart.yaml"))
        || (folder.is_empty() && discovery.files.is_file("Chart.yaml"))
    {
        return chart_content(discovery, item, source, references, (ChartSource::Folder(folder), namespace));
    }
    if crate::build::kustomization_file(discovery.files, &folder).is_some() {
        return kustomize(discovery, node, &folder, &namespace);
    }
    directory(discovery, node, &folder, &namespace)
}

/// Whether a source is this repository.
fn is_own_source(discovery: &Discovery<'_>, node: &Node) -> bool {
    let url = text(node, &["repoURL"]);
    if !discovery.is_own(url) {
        return false;
    }
    match text(node, &["targetRevision"]) {
        "" | "HEAD" => true,
        revision => {
            let branches = &discovery.settings.branches;
            // Without a list of branches, a name that is no version and no commit is taken for one.
            branches.iter().any(|branch| branch == revision.trim_start_matches("refs/heads/"))
                || (branches.is_empty() && !revision.starts_with(|first: char| first.is_ascii_digit()))
        }
    }
}

fn kustomize(
    discovery: &mut Discovery<'_>,
    node: &Node,
    folder: &str,
    namespace: &str,
) -> Result<Content, String> {
    let mut overlay = Map::new();
    let options = node.get("kustomize");
    for (from, to) in [
        ("namePrefix", "namePrefix"),
        ("nameSuffix", "nameSuffix"),
        ("namespace", "namespace"),
        ("images", "images"),
        ("patches", "patches"),
        ("components", "components"),
        ("commonLabels", "commonLabels"),
        ("commonAnnotations", "commonAnnotations"),
        ("replicas", "replicas"),
    ] {
        if let Some(value) = options.and_then(|options| options.get(from)) {
            overlay.insert(to.into(), image_texts(to, value));
        }
    }
    let mut built = discovery.build(folder, &overlay)?;
    default_namespace(&mut built.objects, namespace);
    Ok(Content::Objects(built.objects))
}

/// Images of Argo CD are `[old=]name[:tag|@digest]`.
fn image_texts(key: &str, value: &Node) -> Node {
    let (true, Some(items)) = (key == "images", value.as_list()) else { return value.clone() };
    let image = |item: &Node| {
        let Some(spelled) = item.as_str() else { return item.clone() };
        let (name, new) = spelled.split_once('=').unwrap_or(("", spelled));
        let mut entry = Map::new();
        let base = |new: &str| {
            new.rsplit_once(':')
                .filter(|(_, tag)| !tag.contains('/'))
                .map(|(base, tag)| (base.to_owned(), tag.to_owned()))
        };
        let (target, field, value) = match new.split_once('@') {
            Some((target, digest)) => (target.to_owned(), "digest", digest.to_owned()),
            None => {
                base(new).map_or((new.to_owned(), "", String::new()), |(target, tag)| (target, "newTag", tag))
            }
        };
        entry.insert("name".into(), Node::from(if name.is_empty() { target.as_str() } else { name }));
        if !name.is_empty() {
            entry.insert("newName".into(), Node::from(target.as_str()));
        }
        if !field.is_empty() {
            entry.insert(field.into(), Node::from(value.as_str()));
        }
        Node::Map(entry)
    };
    Node::List(items.iter().map(image).collect())
}

/// Objects without a namespace get that of the destination.
fn default_namespace(objects: &mut [SourceObject], namespace: &str) {
    for object in objects {
        if !namespace.is_empty() && object.namespace().is_empty() {
            crate::build::set_namespace(object, namespace);
        }
    }
}

fn directory(
    discovery: &mut Discovery<'_>,
    node: &Node,
    folder: &str,
    namespace: &str,
) -> Result<Content, String> {
    let is_recursive = flag(node, &["directory", "recurse"]);
    let (include, exclude) = (text(node, &["directory", "include"]), text(node, &["directory", "exclude"]));
    if !discovery.files.is_folder(folder) {
        return Err(format!("there is no folder {folder}"));
    }
    let mut found = Vec::new();
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let paths: Vec<String> = discovery.files.below(folder).map(|(path, _)| path.to_owned()).collect();
    for path in paths {
        let relative = path.strip_prefix(&prefix).unwrap_or(&path);
        if relative.contains('/') && !is_recursive {
            continue;
        }
        let is_chosen = (include.is_empty() || template::matches(include, relative))
            && (exclude.is_empty() || !template::matches(exclude, relative));
        if !is_chosen {
            continue;
        }
        if path.ends_with(".jsonnet") {
            let place = Some(Place { file: path.clone(), line: 1 });
            discovery.note(NoteKind::LeftOut, place, "Jsonnet is not run; what it makes is left out");
        }
        if is_yaml(&path) {
            found.append(&mut objects(discovery.files, &path)?);
        }
    }
    default_namespace(&mut found, namespace);
    Ok(Content::Objects(found))
}

fn chart_content(
    discovery: &mut Discovery<'_>,
    item: &Item,
    source: &Source<'_>,
    references: &BTreeMap<String, &Node>,
    (chart, namespace): (ChartSource, String),
) -> Result<Content, String> {
    let (object, node) = (&item.object, source.node);
    let helm = node.get("helm").cloned().unwrap_or_default();
    let release = match text(&helm, &["releaseName"]) {
        "" => object.name(),
        name => name,
    };
    let namespace = match text(&helm, &["namespace"]) {
        "" => namespace,
        own => own.to_owned(),
    };
    let layers = layers(discovery, item, (source, &helm), references, &chart)?;
    let api_versions = list(&helm, &["apiVersions"]).iter().filter_map(Node::as_str).map(str::to_owned);
    let version = match &chart {
        ChartSource::Folder(_) => None,
        _ => object.place(&source.at.key("targetRevision")),
    };
    Ok(Content::Chart(Box::new(ChartApp {
        chart,
        version_place: version,
        release: release.to_owned(),
        namespace,
        layers,
        default_files: Vec::new(),
        ignores_missing: false,
        skip_crds: flag(&helm, &["skipCrds"]),
        skip_tests: flag(&helm, &["skipTests"]),
        skip_schema: flag(&helm, &["skipSchemaValidation"]),
        kube_version: text(&helm, &["kubeVersion"]).to_owned(),
        api_versions: api_versions.collect(),
        post: Vec::<PostRender>::new(),
    })))
}

/// The layers of values: files, then values, then parameters, then files of parameters.
fn layers(
    discovery: &mut Discovery<'_>,
    item: &Item,
    (source, helm): (&Source<'_>, &Node),
    references: &BTreeMap<String, &Node>,
    chart: &ChartSource,
) -> Result<Vec<Layer>, String> {
    let ignores_missing = flag(helm, &["ignoreMissingValueFiles"]);
    let mut layers = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for name in list(helm, &["valueFiles"]).iter().filter_map(Node::as_str) {
        let name = environment(item, source.node, name);
        let (pattern, is_own) = file_path(discovery, &name, references, chart)?;
        if !is_own {
            let text = format!("the values file {name} is in another repository and left out");
            discovery.note(
                NoteKind::LeftOut,
                item.object.place(&source.at.key("helm").key("valueFiles")),
                text,
            );
            continue;
        }
        let found = template::expand(discovery.files, &pattern);
        if found.is_empty() && !ignores_missing {
            return Err(format!("its values file {name} does not exist"));
        }
        for file in found {
            if !known.contains(&file) {
                layers.push(file_layer(discovery, &file)?);
                known.push(file);
            }
        }
    }
    let helm_at = source.at.key("helm");
    let object = |key: &str| Some((Box::new(item.object.clone()), helm_at.key(key)));
    let name = format!("{} {}", item.object.kind(), item.object.name());
    match (helm.get("valuesObject"), text(helm, &["values"])) {
        (Some(Node::Map(values)), _) => layers.push(Layer {
            kind: LayerKind::Inline,
            name: name.clone(),
            data: LayerData::Tree(values.clone()),
            object: object("valuesObject"),
            text: None,
        }),
        (_, values) if !values.is_empty() => {
            let values = environment(item, source.node, values);
            let read = pintle_yaml::read_values(values.as_bytes())
                .map_err(|error| format!("its values: {error}"))?;
            let place = item.object.place(&helm_at.key("values"));
            let text = place.map(|place| (Place { line: place.line + 1, ..place }, values.into_bytes()));
            layers.push(Layer {
                kind: LayerKind::Inline,
                name: name.clone(),
                data: LayerData::Tree(read),
                object: object("values"),
                text,
            });
        }
        _ => {}
    }
    for (index, parameter) in list(helm, &["parameters"]).iter().enumerate() {
        layers.push(Layer {
            kind: LayerKind::Parameter,
            name: name.clone(),
            data: LayerData::Set {
                path: text(parameter, &["name"]).to_owned(),
                // Argo CD escapes the commas of values.
                value: environment(
                    item,
                    source.node,
                    &crate::flux::scalar(parameter.get("value").unwrap_or(&Node::Nil)),
                )
                .replace(',', "\\,"),
                literal: false,
                string: flag(parameter, &["forceString"]),
            },
            object: Some((
                Box::new(item.object.clone()),
                helm_at.key("parameters").index(index).key("value"),
            )),
            text: None,
        });
    }
    for parameter in list(helm, &["fileParameters"]) {
        let (file, is_own) = file_path(discovery, text(parameter, &["path"]), references, chart)?;
        let content = if is_own { discovery.files.read(&file)? } else { None };
        let content = content.ok_or_else(|| format!("its file {file} does not exist"))?;
        layers.push(Layer {
            kind: LayerKind::File,
            name: file.clone(),
            data: LayerData::Set {
                path: text(parameter, &["name"]).to_owned(),
                value: String::from_utf8_lossy(&content).into_owned(),
                literal: true,
                string: true,
            },
            object: None,
            text: Some((Place { file, line: 1 }, Vec::new())),
        });
    }
    Ok(layers)
}

/// A values file of this repository.
pub(crate) fn file_layer(discovery: &Discovery<'_>, file: &str) -> Result<Layer, String> {
    let content =
        discovery.files.read(file)?.ok_or_else(|| format!("its values file {file} does not exist"))?;
    let values = pintle_yaml::read_values(&content).map_err(|error| format!("{file}: {error}"))?;
    Ok(Layer {
        kind: LayerKind::File,
        name: file.to_owned(),
        data: LayerData::Tree(values),
        object: None,
        text: Some((Place { file: file.to_owned(), line: 1 }, content.to_vec())),
    })
}

/// The path of a values file in the repository, and whether it is in this one.
fn file_path(
    discovery: &Discovery<'_>,
    name: &str,
    references: &BTreeMap<String, &Node>,
    chart: &ChartSource,
) -> Result<(String, bool), String> {
    let leads_out = || format!("its values file {name} leads out of the repository");
    if name.contains("://") {
        return Ok((name.to_owned(), false));
    }
    if let Some(rest) = name.strip_prefix('$') {
        let (reference, file) = rest.split_once('/').unwrap_or((rest, ""));
        let source =
            references.get(reference).ok_or_else(|| format!("its values file {name} names no source"))?;
        return Ok((join("", file).ok_or_else(leads_out)?, is_own_source(discovery, source)));
    }
    match (chart, name.strip_prefix('/')) {
        (ChartSource::Folder(_), Some(rest)) => Ok((join("", rest).ok_or_else(leads_out)?, true)),
        (ChartSource::Folder(folder), None) => Ok((join(folder, name).ok_or_else(leads_out)?, true)),
        // A file of a chart that is fetched.
        _ => Ok((name.to_owned(), false)),
    }
}

/// Replaces the variables that Argo CD sets for an Application.
fn environment(item: &Item, source: &Node, value: &str) -> String {
    if !value.contains("ARGOCD_") {
        return value.to_owned();
    }
    let object = &item.object;
    let mut value = value.to_owned();
    for (name, with) in [
        ("ARGOCD_APP_NAMESPACE", object.text(&["spec", "destination", "namespace"])),
        ("ARGOCD_APP_NAME", object.name()),
        ("ARGOCD_APP_SOURCE_PATH", text(source, &["path"])),
        ("ARGOCD_APP_SOURCE_REPO_URL", text(source, &["repoURL"])),
        ("ARGOCD_APP_SOURCE_TARGET_REVISION", text(source, &["targetRevision"])),
        ("ARGOCD_APP_PROJECT_NAME", object.text(&["spec", "project"])),
    ] {
        value = value.replace(&format!("${{{name}}}"), with).replace(&format!("${name}"), with);
    }
    value
}
