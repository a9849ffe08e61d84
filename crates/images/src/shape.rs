//! Detection results: an image in values, the values it is composed of, and issues with it.

use std::fmt;
use std::ops::Range;

use crate::reference::{Reference, ReferenceErrorKind};
use crate::value_path::ValuePath;

/// How values spell an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// One string: `image: quay.io/team/api:1`.
    String,
    /// A map of parts: `image: {registry: quay.io, repository: team/api, tag: 1}`.
    Map,
    /// Sibling keys: `image: team/api`, `imageTag: 1`.
    Siblings,
    /// A byte range of a longer text, such as YAML or JSON in a string.
    Embedded(Range<usize>),
}

impl Shape {
    /// The name used in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::String => "string",
            Shape::Map => "map",
            Shape::Siblings => "siblings",
            Shape::Embedded(_) => "embedded",
        }
    }
}

/// What a value contributes to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The whole reference.
    Whole,
    /// The registry, possibly with the start of the path.
    Registry,
    /// The path, possibly with the registry.
    Repository,
    /// The last component of the path.
    Name,
    /// The tag.
    Tag,
    /// The digest.
    Digest,
}

impl Role {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Role::Whole => "image",
            Role::Registry => "registry",
            Role::Repository => "repository",
            Role::Name => "name",
            Role::Tag => "tag",
            Role::Digest => "digest",
        }
    }
}

/// A value that is part of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it contributes.
    pub role: Role,
    /// Where it is.
    pub path: ValuePath,
    /// Its text.
    pub text: String,
}

/// An issue with an image in values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Issue {
    /// The value is a template, so the image is unknown before rendering.
    Template,
    /// The tag is not a string; YAML may change its spelling (`1.10` becomes `1.1`).
    NumberAsTag(String),
    /// A string has a tag and a digest.
    TagAndDigest,
    /// There is no key for a tag, so it may not be an image.
    NoTagKey,
    /// It is in a list, which can only be replaced as a whole.
    InList,
    /// The text is not a reference.
    Unparsable(ReferenceErrorKind),
}

impl Issue {
    /// Whether strict mode rejects it.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Issue::Template | Issue::NumberAsTag(_) | Issue::NoTagKey)
    }

    /// The name used in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Issue::Template => "HelmTemplate",
            Issue::NumberAsTag(_) => "NonStringTag",
            Issue::TagAndDigest => "TagAndDigest",
            Issue::NoTagKey => "RepositoryOnly",
            Issue::InList => "List",
            Issue::Unparsable(_) => "Unparsable",
        }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Issue::Template => f.write_str("the value is a template"),
            Issue::NumberAsTag(text) => write!(f, "the tag {text} is not a string; quote it"),
            Issue::TagAndDigest => f.write_str("the string has both a tag and a digest"),
            Issue::NoTagKey => f.write_str("the map has a repository and no key for a tag"),
            Issue::InList => f.write_str("it is in a list, which can only be replaced as a whole"),
            Issue::Unparsable(kind) => write!(f, "invalid format: {kind}"),
        }
    }
}

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// By the user: a values file or a flag.
    User,
    /// In the `values.yaml` of the chart at this path, as in `parent/charts/child`.
    Chart(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::User => f.write_str("user"),
            Origin::Chart(path) => f.write_str(path),
        }
    }
}

/// An image detected in values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its path: the string, or the map that holds the parts.
    pub path: ValuePath,
    /// The chart that the values belong to, as in `parent/charts/child`.
    pub chart: String,
    /// How it is written down.
    pub shape: Shape,
    /// The values it is composed of, in the order of a reference.
    pub parts: Vec<Part>,
    /// The parts joined as most charts do.
    pub written: String,
    /// The parsed text, if it is a reference.
    pub reference: Option<Reference>,
    /// The tag that charts usually default to if none is given: `appVersion`.
    pub assumed_tag: Option<String>,
    /// Where the value that names the image was set.
    pub origin: Origin,
    /// Issues with it.
    pub issues: Vec<Issue>,
}

impl Finding {
    /// The part with that role.
    pub fn part(&self, role: Role) -> Option<&Part> {
        self.parts.iter().find(|part| part.role == role)
    }

    /// The path of the value that names the image, which is what users are shown.
    pub fn naming_path(&self) -> &ValuePath {
        let naming = [Role::Whole, Role::Repository, Role::Name, Role::Registry];
        naming.into_iter().find_map(|role| self.part(role)).map_or(&self.path, |part| &part.path)
    }
}

/// A value that sets the registry of all images of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalRegistry {
    /// Where it is.
    pub path: ValuePath,
    /// Its text, often empty.
    pub text: String,
}

/// Everything detected in the values of a chart and its subcharts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detection {
    /// The images, in order of their paths.
    pub images: Vec<Finding>,
    /// Values that set the registry of all images.
    pub globals: Vec<GlobalRegistry>,
}
