//! The recursion over kustomizations: resources, generators, components, and then the transformers.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use pintle_tree::{Node, Str, ValuePath, with_stack};

use crate::FILE_NAMES;
use crate::config::{Config, FieldSpec, Purpose};
use crate::context::{
    Context, Loaded, Location, Repository, TypesOrBuiltin, is_remote, leaves, refused_address,
};
use crate::crds;
use crate::error::Error;
use crate::files::join;
use crate::generators;
use crate::id::{Id, Key, short};
use crate::kustomization::{Item, Kustomization, ReplacementEntry, Sort, read_replacements};
use crate::names;
use crate::object::{Build, ChangeKind, Place};
use crate::options::{HelmChart, Order};
use crate::patches::{self, check_unique, drop_empty};
use crate::replacements;
use crate::resource::Resource;
use crate::schema::Types;
use crate::source::{Document, Position};
use crate::stream;
use crate::transformers;
use crate::value::Value;

/// The version that `managedByLabel` names.
const VERSION: &str = "v5.8.2";

/// The objects of a kustomization, and the fields that its transformers change.
#[derive(Default)]
pub(crate) struct Accumulator {
    pub(crate) resources: Vec<Resource>,
    config: Option<Arc<Config>>,
    /// The ids of the objects, while nothing but [`Accumulator::append`] changes them.
    ids: Option<BTreeSet<Key>>,
}

impl Accumulator {
    fn config(&self) -> Arc<Config> {
        self.config.clone().unwrap_or_else(Config::builtin)
    }

    fn merge_config(&mut self, other: &Arc<Config>) -> Result<(), Error> {
        match &mut self.config {
            None => self.config = Some(other.clone()),
            Some(mine) if Arc::ptr_eq(mine, other) => {}
            Some(mine) => Arc::make_mut(mine).merge(other)?,
        }
        Ok(())
    }

    /// Adds objects whose ids are new.
    fn append(&mut self, context: &Context<'_>, resources: Vec<Resource>) -> Result<(), Error> {
        context.charge(resources.len())?;
        let present = &self.resources;
        let ids =
            self.ids.get_or_insert_with(|| present.iter().map(|resource| resource.id().key()).collect());
        for resource in resources {
            let id = resource.id();
            if !ids.insert(id.key()) {
                let message = format!("may not add resource with an already registered id: {}", short(&id));
                return Err(Error::new(message).at(&resource.origin.file, Some(resource.origin.line)));
            }
            self.resources.push(resource);
        }
        context.check_count(&self.resources)
    }
}

/// Finds the kustomization file of a folder.
pub(crate) fn find_file(context: &Context<'_>, location: &Location<'_>) -> Result<Option<Loaded>, Error> {
    let mut found = None;
    for name in FILE_NAMES {
        let path = join(&location.folder, name).unwrap_or_default();
        if let Some(loaded) = context.read_at(location, &path)? {
            if found.is_some() {
                let folder = location.shown(&location.folder);
                return Err(Error::new(format!("found multiple kustomization files under: {folder}")));
            }
            found = Some(loaded);
        }
    }
    Ok(found)
}

/// Reads the kustomization of a folder.
fn read_kustomization(context: &Context<'_>, location: &Location<'_>) -> Result<Kustomization, Error> {
    let found = find_file(context, location)?;
    let loaded = found.ok_or_else(|| {
        let folder = location.shown(&location.folder);
        Error::new(format!("there is no {} in '{folder}'", FILE_NAMES.join(", ")))
    })?;
    Kustomization::parse(&loaded.file, &loaded.text)
}

/// Builds a folder, with a kustomization in memory in place of its file if one is given.
pub(crate) fn build(
    context: Context<'_>,
    location: &Location<'_>,
    given: Option<Kustomization>,
    resources: Vec<Resource>,
) -> Result<Build, Error> {
    let kustomization = match given {
        Some(kustomization) => kustomization,
        None => read_kustomization(&context, location)?,
    };
    let accumulator = Accumulator { resources, ..Accumulator::default() };
    let mut accumulated = accumulate(&context, location, &kustomization, accumulator, None)?;
    names::add_hashes(&mut accumulated.resources)?;
    let config = accumulated.config();
    names::fix_references(&context, &config, &mut accumulated.resources)?;
    let mut resources = accumulated.resources;
    drop_local(&mut resources)?;
    sort(&kustomization, context.options.order, &mut resources);
    if kustomization.build_metadata.iter().any(|word| word == "managedByLabel") {
        add_managed_by(&kustomization, &mut resources);
    }
    for resource in &mut resources {
        // Annotations have been texts on their way, and what is empty is left out.
        let texts = resource.texts("annotations");
        resource.set_texts("annotations", texts);
    }
    let objects = resources.into_iter().map(Resource::finish).collect::<Result<_, _>>()?;
    let (files, warnings) = context.into_parts();
    Ok(Build { objects, files, warnings })
}

/// Drops objects that are for tools only.
fn drop_local(resources: &mut Vec<Resource>) -> Result<(), Error> {
    if let Some(nameless) = resources.iter().find(|resource| {
        let kind = resource.top("kind");
        kind.is_empty() || (resource.name().is_empty() && !kind.as_bytes().ends_with(b"List"))
    }) {
        let id = short(&nameless.id());
        return Err(Error::new(format!("missing kind or metadata.name in object {id}"))
            .at(&nameless.origin.file, Some(nameless.origin.line)));
    }
    resources.retain(|resource| {
        let texts = resource.texts("annotations");
        let local = texts.iter().find(|(key, _)| key.as_bytes() == b"config.kubernetes.io/local-config");
        local.is_none_or(|(_, value)| value.as_bytes() == b"false")
    });
    Ok(())
}

fn add_managed_by(kustomization: &Kustomization, resources: &mut [Resource]) {
    let place = Place { file: kustomization.file.clone(), line: 1 };
    let spec = FieldSpec::everywhere("metadata/labels", true);
    for resource in resources {
        let set = crate::fields::visit(resource, &spec, crate::fields::Missing::Map, &mut |value, _| {
            if let Some(map) = value.as_map_mut() {
                map.insert(
                    "app.kubernetes.io/managed-by".into(),
                    Value::string(format!("kustomize-{VERSION}")),
                );
            }
            Ok(())
        });
        if set.is_ok() {
            let path = ValuePath::root().key("metadata").key("labels").key("app.kubernetes.io/managed-by");
            resource.changed(path, ChangeKind::Metadata, &place);
        }
    }
}

/// Accumulates a kustomization: its resources, its generators, its components, and what its transformers make of them.
fn accumulate(
    context: &Context<'_>,
    location: &Location<'_>,
    kustomization: &Kustomization,
    mut accumulator: Accumulator,
    helm_namespace: Option<&str>,
) -> Result<Accumulator, Error> {
    context.enter(location.depth()).map_err(|error| error.at(&kustomization.file, None))?;
    context.warn(&kustomization.warnings);
    refuse_metadata(kustomization)?;
    read_openapi(context, location, kustomization)?;
    let namespace = kustomization.namespace.as_ref().map(|item| item.text.as_str()).or(helm_namespace);
    for item in &kustomization.resources {
        add_resource(context, location, item, namespace, &mut accumulator)
            .map_err(|error| error.at(&item.place.file, Some(item.place.line)))?;
    }
    accumulator.ids = None;
    accumulator.merge_config(&own_config(context, location, kustomization)?)?;
    for entry in &kustomization.generators {
        let generated = generators::generate(context, location, entry)?;
        generators::absorb(&mut accumulator.resources, generated)?;
    }
    add_charts(context, location, kustomization, namespace, &mut accumulator)?;
    for item in &kustomization.components {
        accumulator = add_component(context, location, item, namespace, accumulator)
            .map_err(|error| error.at(&item.place.file, Some(item.place.line)))?;
    }
    transform(context, location, kustomization, &mut accumulator)?;
    Ok(accumulator)
}

fn refuse_metadata(kustomization: &Kustomization) -> Result<(), Error> {
    let refused = |word: &&String| matches!(word.as_str(), "originAnnotations" | "transformerAnnotations");
    match kustomization.build_metadata.iter().find(refused) {
        None => Ok(()),
        Some(word) => {
            let message = format!("{word} in buildMetadata is not supported");
            Err(Error::refused("buildMetadata", message).at(&kustomization.file, None))
        }
    }
}

/// Sets the schema that strategic merge patches use from here on.
fn read_openapi(
    context: &Context<'_>,
    location: &Location<'_>,
    kustomization: &Kustomization,
) -> Result<(), Error> {
    if let Some(version) = kustomization.openapi_version.as_ref().filter(|version| version.text != "v1.21.2")
    {
        let message = format!("the OpenAPI version {} is not built in", version.text);
        return Err(Error::new(message).at(&version.place.file, Some(version.place.line)));
    }
    let Some(item) = &kustomization.openapi else { return Ok(()) };
    let loaded = context.load(location, &item.text, &item.place)?;
    let node = pintle_yaml::read_exact(&loaded.text).map_err(|error| error.to_string());
    let types = node.and_then(|node| Types::from_openapi(&node));
    let types =
        types.map_err(|error| Error::new(format!("invalid schema file: {error}")).at(&loaded.file, None))?;
    *context.types.borrow_mut() = Rc::new(TypesOrBuiltin::Own(types));
    Ok(())
}

/// The fields that the transformers of a kustomization change.
fn own_config(
    context: &Context<'_>,
    location: &Location<'_>,
    kustomization: &Kustomization,
) -> Result<Arc<Config>, Error> {
    if kustomization.configurations.is_empty() && kustomization.crds.is_empty() {
        return Ok(Config::builtin());
    }
    let mut config = Config::clone(&Config::builtin());
    for item in &kustomization.configurations {
        let loaded = context.load(location, &item.text, &item.place)?;
        let at = |error: String| Error::new(error).at(&loaded.file, None);
        let node = pintle_yaml::read_strict(&loaded.text).map_err(|error| at(error.to_string()))?;
        let own = Config::parse(&node).map_err(at)?;
        config.merge(&own).map_err(|error| error.at(&loaded.file, None))?;
    }
    for item in &kustomization.crds {
        let loaded = context.load(location, &item.text, &item.place)?;
        let own = crds::config_of(&loaded.text).map_err(|error| Error::new(error).at(&loaded.file, None))?;
        config.merge(&own).map_err(|error| error.at(&loaded.file, None))?;
    }
    Ok(Arc::new(config))
}

/// Adds a file with objects, or another kustomization.
fn add_resource(
    context: &Context<'_>,
    location: &Location<'_>,
    item: &Item,
    helm_namespace: Option<&str>,
    accumulator: &mut Accumulator,
) -> Result<(), Error> {
    let path = item.text.as_str();
    if path.is_empty() {
        return Err(Error::new("a resource is an empty text"));
    }
    if is_remote(path) {
        return add_remote(context, location, path, helm_namespace, accumulator);
    }
    if let Some(loaded) = context.find(location, path)? {
        let objects = stream::read_objects(&loaded.file, &loaded.text, Position::Whole)?;
        return accumulator.append(context, objects);
    }
    let inner = enter(context, location, path)?;
    let objects = accumulate_folder(context, &inner, helm_namespace)?;
    accumulator.append(context, objects.resources)?;
    objects.config.map_or(Ok(()), |config| accumulator.merge_config(&config))
}

/// The location of a folder that a kustomization names.
fn enter<'f>(context: &Context<'_>, location: &Location<'f>, path: &str) -> Result<Location<'f>, Error> {
    let folder = join(&location.folder, path).ok_or_else(|| leaves(path))?;
    // A part that only contains dots among other letters comes from a wrong indentation.
    let ambiguous = |part: &str| part != ".." && part.contains("..");
    if path.split('/').any(ambiguous) {
        return Err(Error::new(format!(
            "path {path:?} is ambiguous; check the indentation of the kustomization"
        )));
    }
    if !context.is_folder(location, &folder)? {
        return Err(Error::new(format!("there is no file or folder {path}")));
    }
    location.enter(location.repository.clone(), folder).map_err(Error::new)
}

fn accumulate_folder(
    context: &Context<'_>,
    inner: &Location<'_>,
    helm_namespace: Option<&str>,
) -> Result<Accumulator, Error> {
    let kustomization = read_kustomization(context, inner)?;
    if kustomization.is_component {
        let message = "this is a component; it belongs into components and not into resources";
        return Err(Error::new(message).at(&kustomization.file, None));
    }
    with_stack(|| accumulate(context, inner, &kustomization, Accumulator::default(), helm_namespace))
}

fn add_remote(
    context: &Context<'_>,
    location: &Location<'_>,
    address: &str,
    helm_namespace: Option<&str>,
    accumulator: &mut Accumulator,
) -> Result<(), Error> {
    let found = context.options.remote.map(|remote| remote.find(address)).transpose();
    let base = found.map_err(Error::new)?.flatten().ok_or_else(|| refused_address(address))?;
    let path = join("", &base.path).ok_or_else(|| leaves(&base.path))?;
    let repository = Rc::new(Repository::Remote(base, address.to_owned()));
    // Addresses can name each other without end; the depth bounds that.
    let inner = location.enter(repository, path.clone()).map_err(Error::new)?;
    context.enter(inner.depth())?;
    if let Some(loaded) = context.read_at(&inner, &path)? {
        let objects = stream::read_objects(&loaded.file, &loaded.text, Position::Whole)?;
        return accumulator.append(context, objects);
    }
    let objects = accumulate_folder(context, &inner, helm_namespace)?;
    accumulator.append(context, objects.resources)?;
    objects.config.map_or(Ok(()), |config| accumulator.merge_config(&config))
}

/// Applies a component to what has been accumulated.
fn add_component(
    context: &Context<'_>,
    location: &Location<'_>,
    item: &Item,
    helm_namespace: Option<&str>,
    accumulator: Accumulator,
) -> Result<Accumulator, Error> {
    let inner = if is_remote(&item.text) {
        let found = context.options.remote.map(|remote| remote.find(&item.text)).transpose();
        let base = found.map_err(Error::new)?.flatten().ok_or_else(|| refused_address(&item.text))?;
        let path = join("", &base.path).ok_or_else(|| leaves(&base.path))?;
        let repository = Rc::new(Repository::Remote(base, item.text.clone()));
        location.enter(repository, path).map_err(Error::new)?
    } else {
        enter(context, location, &item.text)?
    };
    let kustomization = read_kustomization(context, &inner)?;
    if !kustomization.is_component {
        let message = "this is no component; it belongs into resources and not into components";
        return Err(Error::new(message).at(&kustomization.file, None));
    }
    let accumulated =
        with_stack(|| accumulate(context, &inner, &kustomization, accumulator, helm_namespace))?;
    check_unique(&accumulated.resources)?;
    Ok(accumulated)
}

/// Renders `helmCharts`.
fn add_charts(
    context: &Context<'_>,
    location: &Location<'_>,
    kustomization: &Kustomization,
    namespace: Option<&str>,
    accumulator: &mut Accumulator,
) -> Result<(), Error> {
    for (entry, place) in &kustomization.helm_charts {
        let at = |error: Error| error.at(&place.file, Some(place.line));
        let renderer = context.options.helm.ok_or_else(|| {
            at(Error::refused("helmCharts", "helmCharts need something that renders charts"))
        })?;
        let own = entry.get("namespace").and_then(Node::as_str).filter(|namespace| !namespace.is_empty());
        let chart = HelmChart {
            folder: location.folder.clone(),
            file: place.file.to_string(),
            line: Some(place.line),
            entry: entry.clone(),
            globals: kustomization.helm_globals.clone(),
            namespace: own.or(namespace).map(str::to_owned),
        };
        let text = renderer.render(&chart).map_err(|error| at(Error::new(error)))?;
        let objects = stream::read_objects(&place.file, &Arc::from(text), Position::Line(place.line));
        for mut object in objects? {
            object.from_helm = true;
            generators::absorb(&mut accumulator.resources, object)?;
        }
        context.check_count(&accumulator.resources)?;
    }
    Ok(())
}

/// Runs the transformers in kustomize's order.
fn transform(
    context: &Context<'_>,
    location: &Location<'_>,
    kustomization: &Kustomization,
    accumulator: &mut Accumulator,
) -> Result<(), Error> {
    let config = accumulator.config();
    let resources = &mut accumulator.resources;
    patches::apply_strategic(context, location, &kustomization.strategic_patches, resources)?;
    for entry in &kustomization.patches {
        patches::apply(context, location, entry, resources)?;
    }
    if let Some(item) = &kustomization.namespace {
        transformers::namespace(context, &config, item, resources)?;
    }
    if let Some(item) = &kustomization.name_prefix {
        transformers::affix(context, &config, Purpose::NamePrefix, item, resources)?;
    }
    if let Some(item) = &kustomization.name_suffix {
        transformers::affix(context, &config, Purpose::NameSuffix, item, resources)?;
    }
    for entry in &kustomization.labels {
        transformers::labels(context, &config, entry, resources)?;
    }
    if let Some(entry) = &kustomization.common_labels {
        transformers::common_labels(context, &config, entry, resources)?;
    }
    if let Some((pairs, place)) = &kustomization.common_annotations {
        transformers::annotations(context, &config, pairs, place, resources)?;
    }
    for entry in &kustomization.json_patches {
        patches::apply_json(context, location, entry, resources)?;
    }
    for entry in &kustomization.replicas {
        transformers::replicas(context, &config, entry, resources)?;
    }
    for entry in &kustomization.images {
        transformers::images(context, &config, entry, resources)?;
    }
    for entry in &kustomization.replacements {
        match entry {
            ReplacementEntry::Inline(replacement) => replacements::apply(context, replacement, resources)?,
            ReplacementEntry::File(item) => {
                let loaded = context.load(location, &item.text, &item.place)?;
                for replacement in read_replacements(&loaded.file, &loaded.text)? {
                    replacements::apply(context, &replacement, resources)?;
                }
            }
        }
    }
    drop_empty(resources);
    Ok(())
}

/// The kinds that come first in kustomize's order.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// The kinds that come last.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sorts the objects as `sortOptions` or the caller asks for.
fn sort(kustomization: &Kustomization, order: Order, resources: &mut Vec<Resource>) {
    let orders = match &kustomization.sort {
        Some(Sort { legacy: false, .. }) => return,
        Some(Sort { orders: Some(orders), .. }) => orders.clone(),
        None if order == Order::AsNamed => return,
        _ => (FIRST.map(str::to_owned).to_vec(), LAST.map(str::to_owned).to_vec()),
    };
    let mut ranks: BTreeMap<&str, i64> = BTreeMap::new();
    let first = orders.0.len() as i64;
    ranks.extend(orders.0.iter().zip(-first..).map(|(kind, rank)| (kind.as_str(), rank)));
    ranks.extend(orders.1.iter().zip(1..).map(|(kind, rank)| (kind.as_str(), rank)));
    let mut keyed: Vec<(Id, Resource)> =
        resources.drain(..).map(|resource| (resource.id(), resource)).collect();
    keyed.sort_by(|(one, _), (other, _)| {
        let rank = |id: &Id| id.gvk.kind.as_str().and_then(|kind| ranks.get(kind)).copied().unwrap_or(0);
        let kinds = || {
            let namespaces =
                one.gvk.kind.as_bytes() == b"Namespace" && other.gvk.kind.as_bytes() == b"Namespace";
            let order = kind_text(one).cmp(&kind_text(other));
            let core = one.gvk.group.is_empty() || other.gvk.group.is_empty();
            if namespaces && core { order.reverse() } else { order }
        };
        rank(one).cmp(&rank(other)).then_with(kinds).then_with(|| id_text(one).cmp(&id_text(other)))
    });
    resources.extend(keyed.into_iter().map(|(_, resource)| resource));
}

fn or(text: &Str, none: &str) -> String {
    if text.is_empty() { none.to_owned() } else { text.to_string() }
}

fn kind_text(id: &Id) -> String {
    format!("{}_{}_{}", or(&id.gvk.group, "~G"), or(&id.gvk.version, "~V"), or(&id.gvk.kind, "~K"))
}

fn id_text(id: &Id) -> String {
    format!("{}|{}|{}", id.gvk.text(), or(&id.namespace, "~X"), or(&id.name, "~N"))
}

/// The resources that objects become again, for a kustomization in memory.
pub(crate) fn resource_of(object: crate::object::Object) -> Resource {
    let document = Document::fixed(object.origin.file.clone(), object.origin.line);
    let mut resource = Resource::new(Value::from_json(&object.node), document);
    resource.source = object.source;
    resource.changes = object.changes;
    resource
}
