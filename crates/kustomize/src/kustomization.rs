//! Kustomization files: what is in them, with the old spellings of fields put right.

mod decode;

use std::sync::Arc;

use pintle_tree::{Node, Str, ValuePath};

use crate::config::FieldSpec;
use crate::error::Error;
use crate::object::Place;
use crate::resource::Behavior;
use crate::select::SelectorText;
use crate::source::{Document, Position};
use decode::Fields;

/// A text with its line.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// An entry of `patches`.
#[derive(Clone, Debug)]
pub(crate) struct PatchEntry {
    pub(crate) path: String,
    pub(crate) patch: String,
    pub(crate) target: Option<SelectorText>,
    pub(crate) allow_name_change: bool,
    pub(crate) allow_kind_change: bool,
    pub(crate) place: Place,
    /// Where an inline patch is in the file.
    pub(crate) position: Position,
}

/// An entry of `labels`.
#[derive(Clone, Debug)]
pub(crate) struct LabelEntry {
    pub(crate) pairs: Vec<(Str, Str)>,
    pub(crate) include_selectors: bool,
    pub(crate) include_templates: bool,
    pub(crate) include_claim_templates: bool,
    pub(crate) fields: Vec<FieldSpec>,
    pub(crate) place: Place,
}

/// An entry of `images`.
#[derive(Clone, Debug)]
pub(crate) struct ImageEntry {
    pub(crate) name: String,
    pub(crate) new_name: String,
    pub(crate) new_tag: String,
    pub(crate) tag_suffix: String,
    pub(crate) digest: String,
    pub(crate) place: Place,
}

/// An entry of `replicas`.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaEntry {
    pub(crate) name: String,
    pub(crate) count: i64,
    pub(crate) place: Place,
}

/// An entry of `configMapGenerator` or `secretGenerator`.
#[derive(Clone, Debug)]
pub(crate) struct GeneratorEntry {
    pub(crate) is_secret: bool,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) behavior: Behavior,
    pub(crate) secret_type: String,
    pub(crate) literals: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) envs: Vec<String>,
    pub(crate) options: GeneratorOptions,
    pub(crate) place: Place,
}

/// `generatorOptions`, or the options of one generator.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratorOptions {
    pub(crate) labels: Vec<(Str, Str)>,
    pub(crate) annotations: Vec<(Str, Str)>,
    pub(crate) disable_name_suffix_hash: bool,
    pub(crate) immutable: bool,
}

/// An entry of `replacements`.
#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub(crate) source: Option<Source>,
    pub(crate) value: Option<String>,
    pub(crate) targets: Vec<Target>,
    pub(crate) place: Place,
}

/// Where a replacement takes its value.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) selector: SelectorText,
    pub(crate) field_path: String,
    pub(crate) options: FieldOptions,
}

/// Where a replacement puts its value.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) select: Option<SelectorText>,
    pub(crate) reject: Vec<SelectorText>,
    pub(crate) field_paths: Vec<String>,
    pub(crate) options: FieldOptions,
}

/// The options of a field of a replacement.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldOptions {
    pub(crate) delimiter: String,
    pub(crate) index: i64,
    pub(crate) create: bool,
}

/// `replacements` entries: in the file, or in another one.
#[derive(Clone, Debug)]
pub(crate) enum ReplacementEntry {
    Inline(Box<Replacement>),
    File(Item),
}

/// `sortOptions`.
#[derive(Clone, Debug)]
pub(crate) struct Sort {
    pub(crate) legacy: bool,
    pub(crate) orders: Option<(Vec<String>, Vec<String>)>,
}

/// A kustomization file.
#[derive(Clone, Debug)]
pub(crate) struct Kustomization {
    pub(crate) file: Arc<str>,
    pub(crate) is_component: bool,
    pub(crate) resources: Vec<Item>,
    pub(crate) components: Vec<Item>,
    pub(crate) crds: Vec<Item>,
    pub(crate) configurations: Vec<Item>,
    pub(crate) openapi: Option<Item>,
    pub(crate) openapi_version: Option<Item>,
    pub(crate) name_prefix: Option<Item>,
    pub(crate) name_suffix: Option<Item>,
    pub(crate) namespace: Option<Item>,
    pub(crate) common_labels: Option<LabelEntry>,
    pub(crate) labels: Vec<LabelEntry>,
    pub(crate) common_annotations: Option<(Vec<(Str, Str)>, Place)>,
    pub(crate) patches: Vec<PatchEntry>,
    pub(crate) strategic_patches: Vec<Item>,
    pub(crate) json_patches: Vec<PatchEntry>,
    pub(crate) images: Vec<ImageEntry>,
    pub(crate) replicas: Vec<ReplicaEntry>,
    pub(crate) replacements: Vec<ReplacementEntry>,
    pub(crate) generators: Vec<GeneratorEntry>,
    pub(crate) helm_charts: Vec<(Node, Place)>,
    pub(crate) helm_globals: Node,
    pub(crate) sort: Option<Sort>,
    pub(crate) build_metadata: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// The fields that this crate knows.
const KNOWN: [&str; 32] = [
    "apiVersion",
    "kind",
    "metadata",
    "openapi",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "commonAnnotations",
    "patchesStrategicMerge",
    "patchesJson6902",
    "patches",
    "images",
    "imageTags",
    "replacements",
    "replicas",
    "vars",
    "sortOptions",
    "resources",
    "components",
    "crds",
    "bases",
    "configMapGenerator",
    "secretGenerator",
    "helmGlobals",
    "helmCharts",
    "helmChartInflationGenerator",
    "generatorOptions",
    "configurations",
    "buildMetadata",
    "generators",
];

/// The fields that run programs, or are going away.
const REFUSED: [(&str, &str); 4] = [
    ("vars", "use replacements instead"),
    ("generators", "a generator is a program or a configuration for one"),
    ("transformers", "a transformer is a program or a configuration for one"),
    ("validators", "a validator is a program"),
];

/// The deprecated fields and what to use instead.
const DEPRECATED: [(&str, &str); 5] = [
    ("bases", "resources"),
    ("commonLabels", "labels"),
    ("imageTags", "images"),
    ("patchesJson6902", "patches"),
    ("patchesStrategicMerge", "patches"),
];

const VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

impl Kustomization {
    /// Reads a kustomization file.
    ///
    /// # Errors
    /// What is no kustomization, and the fields that are refused.
    pub(crate) fn parse(file: &Arc<str>, text: &Arc<[u8]>) -> Result<Self, Error> {
        let node = pintle_yaml::read_exact(text)
            .map_err(|error| Error::new(format!("invalid Kustomization: {error}")).at(file, error.line()))?;
        let document = Document::new(file.clone(), text.clone(), 0..text.len());
        let map = match &node {
            Node::Map(map) => map,
            Node::Nil => return Err(Error::new("the kustomization is empty").at(file, None)),
            other => {
                let kind = other.json_type();
                return Err(Error::new(format!("a kustomization is a map, not a {kind}")).at(file, Some(1)));
            }
        };
        Self::decode(&Fields::new(map, &document, ValuePath::root()))
    }

    fn decode(fields: &Fields<'_>) -> Result<Self, Error> {
        for (name, reason) in REFUSED {
            if fields.list(name).is_ok_and(|list| !list.is_empty()) {
                return Err(fields.refused(name, reason));
            }
        }
        fields.only(&[&KNOWN[..], &["transformers", "validators"]].concat())?;
        let is_component = Self::check_kind(fields)?;
        fields.inner("metadata")?;
        let filled = |name: &str| fields.get(name).is_some();
        if !KNOWN.iter().chain(&["transformers", "validators"]).skip(2).any(|name| filled(name)) {
            return Err(Error::new("kustomization.yaml is empty").at(&fields.file(), None));
        }
        let mut resources = fields.items("resources")?;
        resources.extend(fields.items("bases")?);
        let mut images = fields.each("images", decode::image)?;
        images.extend(fields.each("imageTags", decode::image)?);
        let openapi = fields.inner("openapi")?;
        let openapi_field = |name: &str| openapi.as_ref().map_or(Ok(None), |fields| fields.item(name));
        let (helm_charts, helm_globals) = decode::helm(fields)?;
        let metadata = fields.strings("buildMetadata")?;
        let warnings = DEPRECATED.iter().filter(|(name, _)| filled(name)).map(|(name, instead)| {
            format!("{}: '{name}' is deprecated. Please use '{instead}' instead.", fields.file())
        });
        Ok(Kustomization {
            file: fields.file(),
            is_component,
            resources,
            components: fields.items("components")?,
            crds: fields.items("crds")?,
            configurations: fields.items("configurations")?,
            openapi: openapi_field("path")?,
            openapi_version: openapi_field("version")?,
            name_prefix: fields.item("namePrefix")?,
            name_suffix: fields.item("nameSuffix")?,
            namespace: fields.item("namespace")?,
            common_labels: decode::common_labels(fields)?,
            labels: fields.each("labels", decode::label)?,
            common_annotations: decode::common_annotations(fields)?,
            patches: fields.each("patches", decode::patch)?,
            strategic_patches: fields.items("patchesStrategicMerge")?,
            json_patches: fields.each("patchesJson6902", decode::patch)?,
            images,
            replicas: fields.each("replicas", decode::replica)?,
            replacements: fields.each("replacements", decode::replacement_entry)?,
            generators: decode::generators(fields)?,
            helm_charts,
            helm_globals,
            sort: decode::sort(fields)?,
            build_metadata: metadata,
            warnings: warnings.collect(),
        })
    }

    /// Whether it is a component.
    fn check_kind(fields: &Fields<'_>) -> Result<bool, Error> {
        let kind = fields.text("kind")?;
        let is_component = match kind.as_str() {
            "" | "Kustomization" => false,
            "Component" => true,
            other => {
                return Err(
                    fields.wrong("kind", &format!("kind should be Kustomization or Component, not {other}"))
                );
            }
        };
        let wanted = if is_component { COMPONENT_VERSION } else { VERSION };
        match fields.text("apiVersion")?.as_str() {
            "" => Ok(is_component),
            version if version == wanted => Ok(is_component),
            _ => {
                let kind = if is_component { "Component" } else { "Kustomization" };
                Err(fields.wrong("apiVersion", &format!("apiVersion for {kind} should be {wanted}")))
            }
        }
    }
}

/// Reads the replacements of a file of their own.
pub(crate) fn read_replacements(file: &Arc<str>, text: &Arc<[u8]>) -> Result<Vec<Replacement>, Error> {
    let node = pintle_yaml::read_exact(text)
        .map_err(|error| Error::new(error.to_string()).at(file, error.line()))?;
    let document = Document::new(file.clone(), text.clone(), 0..text.len());
    let items: Vec<(&Node, ValuePath)> = match &node {
        Node::List(list) => {
            list.iter().enumerate().map(|(at, item)| (item, ValuePath::root().index(at))).collect()
        }
        other => vec![(other, ValuePath::root())],
    };
    let decode = |(item, path): (&Node, ValuePath)| match item {
        Node::Map(map) => decode::replacement(&Fields::new(map, &document, path)),
        _ => Err(Error::new("a replacement is a map").at(file, Some(document.line_of(&path)))),
    };
    items.into_iter().map(decode).collect()
}
