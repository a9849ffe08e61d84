//! What is found in values: an image, the values it is put together from, and what is odd about it.

use std::fmt;
use std::ops::Range;

use crate::reference::{Reference, ReferenceErrorKind};
use crate::value_path::ValuePath;

/// How an image is written down in values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// One string: `image: quay.io/team/api:1`.
    String,
    /// A map of parts: `image: {registry: quay.io, repository: team/api, tag: 1}`.
    Map,
    /// Keys beside each other: `image: team/api`, `imageTag: 1`.
    Siblings,
    /// A part of a longer text, such as YAML or JSON in a string.
    Embedded(Range<usize>),
}

impl Shape {
    /// The word for it in reports.
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
    /// All of it.
    Whole,
    /// The registry, maybe with the beginning of the path.
    Registry,
    /// The path, maybe with the registry before it.
    Repository,
    /// The last name of the path.
    Name,
    /// The tag.
    Tag,
    /// The digest.
    Digest,
}

impl Role {
    /// The word for it in reports.
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

/// A value that is a part of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it contributes.
    pub role: Role,
    /// Where it is.
    pub path: ValuePath,
    /// Its text.
    pub text: String,
}

/// What is odd about an image in values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Issue {
    /// The value is a template, so that its text says nothing.
    Template,
    /// The tag is no string; YAML may change how it is spelled.
    NumberAsTag(String),
    /// A string has a tag and a digest.
    TagAndDigest,
    /// There is no key for a tag, so that it may be no image.
    NoTagKey,
    /// It is in a list, which can only be replaced as a whole.
    InList,
    /// The text is no reference.
    Unparsable(ReferenceErrorKind),
}

impl Issue {
    /// Whether it is among the structures that strict mode refuses.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Issue::Template | Issue::NumberAsTag(_) | Issue::NoTagKey)
    }

    /// The name of it in reports.
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
            Issue::NumberAsTag(text) => write!(f, "the tag {text} is no string; quote it"),
            Issue::TagAndDigest => f.write_str("the string has both a tag and a digest"),
            Issue::NoTagKey => f.write_str("the map has a repository and no key for a tag"),
            Issue::InList => f.write_str("it is in a list, which can only be replaced as a whole"),
            Issue::Unparsable(kind) => write!(f, "invalid format: {kind}"),
        }
    }
}

/// Who gave a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user: a values file or a flag.
    User,
    /// The values.yaml of the chart at this path, as in `parent/charts/child`.
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

/// An image that values define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where it is: the string, or the map that holds the parts.
    pub path: ValuePath,
    /// The chart whose values these are, as in `parent/charts/child`.
    pub chart: String,
    /// How it is written down.
    pub shape: Shape,
    /// The values it is put together from, in the order of a reference.
    pub parts: Vec<Part>,
    /// The whole text, put together as charts usually do it.
    pub written: String,
    /// The text as a reference, if it is one.
    pub reference: Option<Reference>,
    /// The tag that charts usually take where none is given: the version of the application.
    pub assumed_tag: Option<String>,
    /// Who gave the value that names the image.
    pub origin: Origin,
    /// What is odd about it.
    pub issues: Vec<Issue>,
}

impl Finding {
    /// The part with that role.
    pub fn part(&self, role: Role) -> Option<&Part> {
        self.parts.iter().find(|part| part.role == role)
    }

    /// The key whose value names the image: what is shown as its place.
    pub fn naming_path(&self) -> &ValuePath {
        let naming = [Role::Whole, Role::Repository, Role::Name, Role::Registry];
        naming.into_iter().find_map(|role| self.part(role)).map_or(&self.path, |part| &part.path)
    }
}

/// A value by which a chart lets users choose the registry of all its images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalRegistry {
    /// Where it is.
    pub path: ValuePath,
    /// Its text, often empty.
    pub text: String,
}

/// All that was found in the values of a chart and its subcharts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detection {
    /// The images, in order of their paths.
    pub images: Vec<Finding>,
    /// The values for the registry of all images.
    pub globals: Vec<GlobalRegistry>,
}
