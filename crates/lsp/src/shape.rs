//! What a value in a template may be, as far as it can be known without rendering.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pintle_tree::Str;

use crate::project::{FileId, Instance};

/// A part of a path of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// The value of a key.
    Key(Str),
    /// An item of a list, or the value of a key that is computed.
    Any,
}

/// One of Helm's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    /// `.Release`.
    Release,
    /// `.Chart`.
    Chart,
    /// `.Capabilities`.
    Capabilities,
    /// `.Capabilities.KubeVersion`.
    KubeVersion,
    /// `.Capabilities.HelmVersion`.
    HelmVersion,
    /// `.Capabilities.APIVersions`.
    ApiVersions,
    /// `.Files`.
    Files,
    /// `.Template`.
    Template,
    /// `.Subcharts`.
    Subcharts,
}

/// The bytes of a file that say something.
pub type Site = (FileId, usize, usize);

/// An entry of a map that a template makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// What it may be.
    pub types: Types,
    /// Where its key is written.
    pub sites: BTreeSet<Site>,
}

/// What a value may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// The context of a chart's templates.
    Root(Instance),
    /// One of the objects in it.
    Object(Object, Instance),
    /// Values of a chart. Those of a subchart are its own; globals are the root's.
    Values(Instance, Arc<[Segment]>),
    /// A map that a template makes.
    Dict(Arc<BTreeMap<Str, Entry>>),
    /// A list of such values.
    List(Types),
    /// A text that is known.
    Text(Str),
    /// Such values as YAML or JSON.
    Encoded(Types),
}

/// All that a value may be. Empty if nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Types(Option<Arc<[Shape]>>);

/// The maximum number of things that a value may be.
const MAX_SHAPES: usize = 96;
/// The maximum number of places that are kept for a key.
const MAX_SITES: usize = 16;
/// The maximum depth of maps and lists in each other.
const MAX_DEPTH: usize = 8;
/// The maximum number of keys of a map.
const MAX_KEYS: usize = 200;

impl Types {
    /// Nothing that is known.
    pub fn unknown() -> Self {
        Types::default()
    }

    /// One thing.
    pub fn one(shape: Shape) -> Self {
        Types(Some(Arc::from([shape])))
    }

    /// What it may be.
    pub fn shapes(&self) -> &[Shape] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.shapes().is_empty()
    }

    /// The texts among it.
    pub fn texts(&self) -> impl Iterator<Item = &Str> {
        self.shapes().iter().filter_map(|shape| match shape {
            Shape::Text(text) => Some(text),
            _ => None,
        })
    }

    /// All of some things.
    pub fn collect(shapes: impl IntoIterator<Item = Shape>) -> Self {
        let mut all: Vec<Shape> = shapes.into_iter().collect();
        if all.is_empty() {
            return Types::default();
        }
        if all.len() == 1 {
            return Types(Some(Arc::from(all)));
        }
        let (mut dicts, mut lists, mut encoded) = (Vec::new(), Vec::new(), Vec::new());
        all.retain(|shape| match shape {
            Shape::Dict(dict) => {
                dicts.push(Arc::clone(dict));
                false
            }
            Shape::List(types) => {
                lists.push(types.clone());
                false
            }
            Shape::Encoded(types) => {
                encoded.push(types.clone());
                false
            }
            _ => true,
        });
        if !dicts.is_empty() {
            all.push(Shape::Dict(merged(dicts)));
        }
        if !lists.is_empty() {
            all.push(Shape::List(lists.into_iter().reduce(|a, b| a.or(&b)).unwrap_or_default()));
        }
        if !encoded.is_empty() {
            all.push(Shape::Encoded(encoded.into_iter().reduce(|a, b| a.or(&b)).unwrap_or_default()));
        }
        all.sort();
        all.dedup();
        all.truncate(MAX_SHAPES);
        Types(Some(Arc::from(all)))
    }

    /// This or the other.
    pub fn or(&self, other: &Types) -> Types {
        match (&self.0, &other.0) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(left), Some(right)) if Arc::ptr_eq(left, right) || left == right => self.clone(),
            (Some(left), Some(right)) => Types::collect(left.iter().chain(right.iter()).cloned()),
        }
    }

    /// The nesting of maps and lists.
    fn depth(&self) -> usize {
        let of = |shape: &Shape| match shape {
            Shape::Dict(dict) => 1 + dict.values().map(|entry| entry.types.depth()).max().unwrap_or(0),
            Shape::List(types) | Shape::Encoded(types) => 1 + types.depth(),
            _ => 0,
        };
        self.shapes().iter().map(of).max().unwrap_or(0)
    }

    /// These, unless they are nested too deeply, as those of recursive templates are.
    pub fn limited(self) -> Types {
        if self.depth() > MAX_DEPTH { Types::default() } else { self }
    }
}

/// A map with one key.
pub fn dict_of(key: Str, types: Types, site: Site) -> Shape {
    let entry = Entry { types: types.limited(), sites: BTreeSet::from([site]) };
    Shape::Dict(Arc::new(BTreeMap::from([(key, entry)])))
}

fn merged(dicts: Vec<Arc<BTreeMap<Str, Entry>>>) -> Arc<BTreeMap<Str, Entry>> {
    let mut dicts = dicts.into_iter();
    let Some(first) = dicts.next() else { return Arc::default() };
    let mut all: Option<BTreeMap<Str, Entry>> = None;
    for dict in dicts {
        if Arc::ptr_eq(&dict, &first) || dict == first {
            continue;
        }
        let all = all.get_or_insert_with(|| (*first).clone());
        for (key, entry) in dict.iter() {
            if all.len() >= MAX_KEYS && !all.contains_key(key) {
                continue;
            }
            let known = all.entry(key.clone()).or_default();
            known.types = known.types.or(&entry.types);
            for site in &entry.sites {
                if known.sites.len() < MAX_SITES {
                    known.sites.insert(*site);
                }
            }
        }
    }
    all.map_or(first, Arc::new)
}

/// The fields of a context.
pub const ROOT_FIELDS: &[(&str, &str)] = &[
    ("Values", "The values of the chart."),
    ("Release", "The release: its name, its namespace, and what is done with it."),
    ("Chart", "What Chart.yaml says."),
    ("Capabilities", "What the cluster can do: its version and its API versions."),
    ("Files", "The other files of the chart."),
    ("Template", "The template that is rendered."),
    ("Subcharts", "The contexts of the subcharts."),
];

impl Object {
    /// The name as templates write it.
    pub fn name(self) -> &'static str {
        match self {
            Object::Release => "Release",
            Object::Chart => "Chart",
            Object::Capabilities => "Capabilities",
            Object::KubeVersion => "KubeVersion",
            Object::HelmVersion => "HelmVersion",
            Object::ApiVersions => "APIVersions",
            Object::Files => "Files",
            Object::Template => "Template",
            Object::Subcharts => "Subcharts",
        }
    }

    /// Its fields and methods, and what they are.
    pub fn fields(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Object::Release => &[
                ("Name", "The name of the release."),
                ("Namespace", "The namespace that is released into."),
                ("Revision", "The revision; 1 on installation, one more on each upgrade and rollback."),
                ("IsInstall", "Whether this is an installation."),
                ("IsUpgrade", "Whether this is an upgrade or a rollback."),
                ("Service", "The service that renders: always `Helm`."),
            ],
            Object::Chart => &[
                ("Name", "The name of the chart."),
                ("Version", "The version of the chart."),
                ("AppVersion", "The version of the application."),
                ("Description", "A one-line description."),
                ("KubeVersion", "The constraint on the Kubernetes version."),
                ("Type", "`application` or `library`."),
                ("Home", "The home page of the project."),
                ("Icon", "The URL of an icon."),
                ("Sources", "URLs of source code."),
                ("Keywords", "Keywords for searching."),
                ("Maintainers", "The maintainers."),
                ("Annotations", "Annotations for other tools."),
                ("Dependencies", "The dependencies."),
                ("Condition", "The condition (historic)."),
                ("Tags", "The tags (historic)."),
                ("Deprecated", "Whether the chart is deprecated."),
                ("APIVersion", "The version of the format of charts."),
                ("IsRoot", "Whether the chart is not a subchart."),
            ],
            Object::Capabilities => &[
                ("KubeVersion", "The version of Kubernetes."),
                ("APIVersions", "The API versions of the cluster."),
                ("HelmVersion", "The version of Helm."),
            ],
            Object::KubeVersion => &[
                ("Version", "The version, as in `v1.36.0`."),
                ("Major", "The major version, as in `1`."),
                ("Minor", "The minor version, as in `36`."),
                ("GitVersion", "The version, as in `v1.36.0` (historic)."),
            ],
            Object::HelmVersion => &[
                ("Version", "The version, as in `v4.3.1`."),
                ("GitCommit", "The commit."),
                ("GitTreeState", "Whether the tree was clean."),
                ("GoVersion", "The version of Go."),
            ],
            Object::ApiVersions => &[(
                "Has",
                "Whether an API version such as `batch/v1`, or a kind such as `apps/v1/Deployment`, is there.",
            )],
            Object::Files => &[
                ("Get", "The content of a file."),
                ("GetBytes", "The content of a file as bytes."),
                ("Glob", "The files that match a pattern."),
                ("Lines", "The lines of a file."),
                ("AsConfig", "The files as the data of a ConfigMap."),
                ("AsSecrets", "The files as the data of a Secret."),
            ],
            Object::Template => &[
                ("Name", "The path of the template, as in `web/templates/a.yaml`."),
                ("BasePath", "The path of the templates of the chart, as in `web/templates`."),
            ],
            Object::Subcharts => &[],
        }
    }
}
