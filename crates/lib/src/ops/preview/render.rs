//! Renders apps.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pintle_chart::Chart;
use pintle_gitops::{App, ChartApp, Content, Layer, LayerData, Snapshot, SourceObject};
use pintle_objects::{Object, ObjectId};
use pintle_render::{Capabilities, KubeVersion, Release, Target};
use pintle_tree::{Map, Node, merge};
use pintle_values::{NullRules, SchemaCheck, ValuesLayer};

use super::charts::{ChartFetcher, Charts, LoadedChart, chain};
use crate::lifecycle::Lifecycle;
use crate::prepare::{PrepareOptions, prepare};
use crate::{RecordObjects, SchemaLoader, Silent, input};

/// One commit, rendered.
pub(crate) struct Side {
    pub(crate) files: Arc<Snapshot>,
    pub(crate) apps: Vec<RenderedApp>,
    pub(crate) notes: Vec<pintle_gitops::Note>,
}

/// An object that an app deploys.
#[derive(Clone, Debug)]
pub(crate) struct RenderedObject {
    /// Without the version. The namespace is that of the release if the object has none.
    pub(crate) id: ObjectId,
    pub(crate) body: Arc<Map<Node>>,
    /// The rendered file.
    pub(crate) template: String,
}

/// A chart with everything that decides what it renders.
#[derive(Clone)]
pub(crate) struct ChartInput {
    pub(crate) loaded: LoadedChart,
    pub(crate) user: Map<Node>,
    pub(crate) release: String,
    pub(crate) namespace: String,
    pub(crate) skip_crds: bool,
    pub(crate) skip_tests: bool,
    pub(crate) skip_schema: bool,
    pub(crate) kube_version: String,
    pub(crate) api_versions: Vec<String>,
    pub(crate) post: Vec<Vec<u8>>,
}

/// What a chart rendered.
#[derive(Clone, Debug, Default)]
pub(crate) struct RenderedChart {
    pub(crate) objects: Vec<RenderedObject>,
    /// What was left out.
    pub(crate) notes: Vec<String>,
}

/// An app with its objects, or the reason why there are none.
#[derive(Clone)]
pub(crate) struct RenderedApp {
    pub(crate) app: App,
    pub(crate) outcome: Result<Rendered, String>,
}

/// What an app deploys.
#[derive(Clone)]
pub(crate) struct Rendered {
    pub(crate) objects: Arc<RenderedChart>,
    pub(crate) input: Option<Arc<ChartInput>>,
}

/// A chart that one of several threads renders.
type OnceRendered = OnceLock<Result<Arc<RenderedChart>, String>>;

/// Renders charts, each with the same input once.
pub(crate) struct Renders {
    charts: Charts,
    capabilities: Capabilities,
    known: Mutex<BTreeMap<u64, Arc<OnceRendered>>>,
}

impl Renders {
    pub(crate) fn new(fetcher: Arc<dyn ChartFetcher>, capabilities: Capabilities) -> Self {
        Renders { charts: Charts::new(fetcher), capabilities, known: Mutex::default() }
    }

    /// Renders an app.
    pub(crate) fn render(&self, files: &Snapshot, app: &App, api_versions: &[String]) -> RenderedApp {
        let outcome = match &app.content {
            Content::Unknown(reason) => Err(reason.clone()),
            Content::Objects(objects) => Ok(Rendered { objects: Arc::new(of_sources(objects)), input: None }),
            Content::Chart(chart) => self.chart(files, chart, api_versions),
        };
        RenderedApp { app: app.clone(), outcome }
    }

    fn chart(&self, files: &Snapshot, app: &ChartApp, api_versions: &[String]) -> Result<Rendered, String> {
        let mut loaded = self.charts.load(files, &app.chart)?;
        if !app.default_files.is_empty() {
            replace_defaults(files, &mut loaded, app)?;
        }
        let mut versions = app.api_versions.clone();
        versions.extend(api_versions.iter().cloned());
        let input = ChartInput {
            loaded,
            user: user_values(&app.layers)?,
            release: app.release.clone(),
            namespace: if app.namespace.is_empty() { "default".to_owned() } else { app.namespace.clone() },
            skip_crds: app.skip_crds,
            skip_tests: app.skip_tests,
            skip_schema: app.skip_schema,
            kube_version: app.kube_version.clone(),
            api_versions: versions,
            post: app
                .post
                .iter()
                .map(|post| pintle_yaml::write(&post.kustomization).unwrap_or_default())
                .collect(),
        };
        let objects = self.render_input(&input)?;
        Ok(Rendered { objects, input: Some(Arc::new(input)) })
    }

    /// Renders a chart, unless that was done with the same input before.
    pub(crate) fn render_input(&self, input: &ChartInput) -> Result<Arc<RenderedChart>, String> {
        let key = key(input);
        let slot = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(key).or_default())
        };
        slot.get_or_init(|| self.render_now(input).map(Arc::new)).clone()
    }

    /// Renders a chart.
    pub(crate) fn render_now(&self, input: &ChartInput) -> Result<RenderedChart, String> {
        let target = self.target(input)?;
        let rules = PrepareOptions {
            nulls: NullRules::Helm4,
            schema: if input.skip_schema { SchemaCheck::Skip } else { SchemaCheck::Check },
            // Schemas that a chart names are neither fetched nor read from files.
            schemas: SchemaLoader::isolated(),
            record_objects: RecordObjects::Allow,
            ..PrepareOptions::default()
        };
        let chart = Chart::clone(&input.loaded.chart);
        super::super::locate::check_installable(&chart, &mut Silent).map_err(|error| chain(&error))?;
        let crds = if input.skip_crds { Vec::new() } else { crds(&chart, &input.namespace)? };
        // Without handlers: scripts of charts do not run.
        let prepared = prepare(chart, input.user.clone(), &target, rules, &Lifecycle::default(), &mut Silent);
        let prepared = prepared.map_err(|error| chain(&error))?;
        let mut rendered = RenderedChart { objects: crds, notes: Vec::new() };
        for (path, text) in &prepared.files {
            let objects = Object::read_manifest(text, path).map_err(|error| chain(&error))?;
            for object in objects {
                let hook = object.annotation("helm.sh/hook").unwrap_or_default();
                if input.skip_tests && hook.split(',').any(|event| event.trim().starts_with("test")) {
                    continue;
                }
                rendered.objects.push(RenderedObject::new(object, path, &input.namespace));
            }
        }
        for kustomization in &input.post {
            post_render(kustomization, &mut rendered, &input.namespace);
        }
        Ok(rendered)
    }

    pub(crate) fn target(&self, input: &ChartInput) -> Result<Target, String> {
        let mut capabilities = self.capabilities.clone().with_api_versions(&input.api_versions);
        if !input.kube_version.is_empty() {
            capabilities.kube_version = KubeVersion::parse(&input.kube_version)?;
        }
        let release = Release {
            name: input.release.clone(),
            namespace: input.namespace.clone(),
            revision: 1,
            is_upgrade: false,
        };
        let mut target = Target::offline(release, capabilities);
        // Generated keys and passwords would differ between the sides.
        target.repeatable = true;
        Ok(target)
    }
}

fn key(input: &ChartInput) -> u64 {
    let mut hasher = DefaultHasher::new();
    let ChartInput {
        loaded,
        user,
        release,
        namespace,
        skip_crds,
        skip_tests,
        skip_schema,
        kube_version,
        api_versions,
        post,
    } = input;
    loaded.identity.hash(&mut hasher);
    pintle_tree::json::write(user).unwrap_or_default().hash(&mut hasher);
    (release, namespace, skip_crds, skip_tests, skip_schema, kube_version, api_versions, post)
        .hash(&mut hasher);
    hasher.finish()
}

/// Changes rendered objects as a kustomization says.
fn post_render(kustomization: &[u8], rendered: &mut RenderedChart, namespace: &str) {
    let mut objects = Vec::new();
    for object in &rendered.objects {
        let text = pintle_yaml::write(&*object.body).unwrap_or_default();
        match pintle_kustomize::read_objects(&object.template, &text) {
            Ok(mut found) => objects.append(&mut found),
            Err(error) => {
                return rendered.notes.push(format!("post-rendering is left out: {}", chain(&error)));
            }
        }
    }
    let options = pintle_kustomize::Options::default();
    match pintle_kustomize::transform(objects, "kustomization.yaml", kustomization, &options) {
        Ok(build) => {
            let changed = build.objects.into_iter().filter_map(|object| {
                let Node::Map(body) = object.node else { return None };
                Some(RenderedObject::new(Object::new(body), &object.origin.file, namespace))
            });
            rendered.objects = changed.collect();
        }
        Err(error) => rendered.notes.push(format!("post-rendering is left out: {}", chain(&error))),
    }
}

/// The values of a chart, from files beside it.
fn replace_defaults(files: &Snapshot, loaded: &mut LoadedChart, app: &ChartApp) -> Result<(), String> {
    let mut values = Map::new();
    for name in &app.default_files {
        let content = match &loaded.folder {
            Some(_) => files
                .read(pintle_gitops::join("", name).unwrap_or_default().as_str())?
                .map(|text| text.to_vec()),
            None => loaded.chart.raw.iter().find(|file| file.name == *name).map(|file| file.data.to_vec()),
        };
        match content {
            Some(text) => {
                let read = pintle_yaml::read_values(&text).map_err(|error| format!("{name}: {error}"))?;
                values = merge::merge(values, read);
            }
            None if app.ignores_missing => {}
            None => return Err(format!("its values file {name} does not exist")),
        }
    }
    let mut chart = Chart::clone(&loaded.chart);
    let mut hasher = DefaultHasher::new();
    (loaded.identity, pintle_tree::json::write(&values).unwrap_or_default()).hash(&mut hasher);
    chart.values = values;
    loaded.chart = Arc::new(chart);
    loaded.identity = hasher.finish();
    Ok(())
}

/// The user's values from all layers.
fn user_values(layers: &[Layer]) -> Result<Map<Node>, String> {
    let layers: Vec<ValuesLayer> = layers.iter().map(values_layer).collect();
    input::user_values(&layers).map_err(|error| chain(&error))
}

fn values_layer(layer: &Layer) -> ValuesLayer {
    match &layer.data {
        LayerData::Tree(values) => ValuesLayer::Tree(values.clone()),
        LayerData::Set { path, value, literal: true, .. } => {
            ValuesLayer::SetLiteral(format!("{path}={value}"))
        }
        LayerData::Set { path, value, string: true, .. } => ValuesLayer::SetString(format!("{path}={value}")),
        LayerData::Set { path, value, .. } => ValuesLayer::Set(format!("{path}={value}")),
    }
}

impl RenderedObject {
    fn new(object: Object, template: &str, namespace: &str) -> Self {
        let mut id = object.id().unversioned();
        if id.namespace.is_empty() {
            namespace.clone_into(&mut id.namespace);
        }
        RenderedObject { id, body: Arc::new(object.into_body()), template: template.to_owned() }
    }
}

fn of_sources(objects: &[SourceObject]) -> RenderedChart {
    let object = |source: &SourceObject| {
        RenderedObject::new(Object::new(source.body.clone()), &source.start().file, "")
    };
    RenderedChart { objects: objects.iter().map(object).collect(), notes: Vec::new() }
}

fn crds(chart: &Chart, namespace: &str) -> Result<Vec<RenderedObject>, String> {
    let mut found = Vec::new();
    for crd in chart.crds() {
        let text = crd.file.data.to_vec();
        let objects = Object::read_manifest(&text, &crd.path).map_err(|error| chain(&error))?;
        found.extend(objects.into_iter().map(|object| RenderedObject::new(object, &crd.path, namespace)));
    }
    Ok(found)
}

impl RenderedApp {
    pub(crate) fn is_chart(&self) -> bool {
        matches!(self.app.content, Content::Chart(_))
    }

    pub(crate) fn objects(&self) -> &[RenderedObject] {
        self.outcome.as_ref().map_or(&[], |rendered| &rendered.objects.objects)
    }

    /// The objects, to be searched for descriptions of other apps.
    pub(crate) fn described(&self) -> Vec<SourceObject> {
        let wanted = |object: &&RenderedObject| {
            matches!(object.id.kind.as_str(), "ConfigMap" | "Secret")
                || [
                    "argoproj.io",
                    "toolkit.fluxcd.io",
                    "fluxcd.controlplane.io",
                    "helm.sh",
                    "external-secrets.io",
                    "bitnami.com",
                ]
                .iter()
                .any(|group| object.id.group.ends_with(group))
        };
        let place = self.app.place.clone();
        let described = self.objects().iter().filter(wanted).map(|object| {
            let mut body = Map::clone(&object.body);
            // What a chart deploys into its own namespace does not say so.
            if let Some(Node::Map(metadata)) = body.get_mut("metadata")
                && !metadata.contains_key("namespace")
            {
                metadata.insert("namespace".into(), object.id.namespace.as_str().into());
            }
            SourceObject::rendered(body, place.clone())
        });
        described.collect()
    }

    /// What the app deploys, in a few words.
    pub(crate) fn describe(&self) -> String {
        let what = match &self.app.content {
            Content::Chart(chart) => chart.chart.to_string(),
            Content::Objects(_) => "objects".to_owned(),
            Content::Unknown(_) => String::new(),
        };
        match &self.outcome {
            Ok(rendered) => format!("{what}: {} objects", rendered.objects.objects.len()),
            Err(reason) if what.is_empty() => format!("not rendered: {reason}"),
            Err(reason) => format!("{what}: not rendered: {reason}"),
        }
    }

    /// The API versions of the CRDs that the app brings.
    pub(crate) fn crd_versions(&self) -> BTreeSet<String> {
        let mut versions = BTreeSet::new();
        for object in self.objects().iter().filter(|object| object.id.kind == "CustomResourceDefinition") {
            let body = Node::Map(Map::clone(&object.body));
            let at = |keys: &[&str]| keys.iter().try_fold(&body, |node, key| node.get(*key));
            let group = at(&["spec", "group"]).and_then(Node::as_str).unwrap_or_default();
            let kind = at(&["spec", "names", "kind"]).and_then(Node::as_str).unwrap_or_default();
            for version in at(&["spec", "versions"]).and_then(Node::as_list).unwrap_or_default() {
                let name = version.get("name").and_then(Node::as_str).unwrap_or_default();
                versions.insert(format!("{group}/{name}"));
                versions.insert(format!("{group}/{name}/{kind}"));
            }
        }
        versions
    }

    /// Whether the chart asks which APIs the cluster has.
    pub(crate) fn reads_api_versions(&self) -> bool {
        let Ok(Rendered { input: Some(input), .. }) = &self.outcome else { return false };
        fn reads(chart: &Chart) -> bool {
            chart.templates.iter().any(|file| memchr::memmem::find(&file.data, b"APIVersions").is_some())
                || chart.subcharts.iter().chain(&chart.libraries).any(reads)
        }
        reads(&input.loaded.chart)
    }
}
