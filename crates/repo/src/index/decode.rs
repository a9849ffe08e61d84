//! Trees into entries of an index, with the rules and the texts of Go's JSON.

use pintle_chart::metadata::{Dependency, Draft, METADATA, Maintainer, Metadata, Timestamp, V1};
use pintle_tree::Node;
use pintle_yaml::decode::{Decoder, Problem};

use super::Skipped;

/// The fields of an entry that are not those of Chart.yaml.
const OWN: [&str; 8] = ["urls", "created", "removed", "digest", "checksum", "engine", "tillerVersion", "url"];

const MAINTAINER: [&str; 3] = ["name", "email", "url"];
const DEPENDENCY: [&str; 8] =
    ["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"];

/// One version of a chart.
#[derive(Clone, Debug, Default)]
pub struct VersionEntry {
    /// What Chart.yaml says.
    pub metadata: Metadata,
    /// Where the archive is.
    pub urls: Vec<String>,
    /// When it was made.
    pub created: Timestamp,
    /// The field `removed`: whether the version was withdrawn.
    pub removed: bool,
    /// The digest of the archive.
    pub digest: String,
    /// Fields that only Helm 2 knew, kept for writing the index again: checksum, engine, tillerVersion and url.
    pub legacy: [String; 4],
}

/// How strictly fields are decoded, which in Helm depends on the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Unknown fields are errors; numbers and booleans become text.
    Yaml,
    /// Unknown fields are ignored; strings must be strings.
    Json,
}

pub(super) enum Decoded {
    Entry(Box<VersionEntry>),
    Skipped(Skipped),
    Wrong(Problem),
}

/// Decodes one entry.
pub(super) fn version(chart: &str, node: &Node, dialect: Dialect) -> Decoded {
    match node {
        Node::Nil => {
            return Decoded::Skipped(Skipped { chart: chart.to_owned(), invalid: None });
        }
        Node::Map(_) => {}
        other => return Decoded::Wrong(clash(other, "repo.ChartVersion")),
    }
    let mut draft = Draft::default();
    let mut entry = VersionEntry::default();
    let mut decoder = Decoder::new(dialect == Dialect::Yaml);
    decoder.fields(node, &names(), |decoder, name, value| {
        // Go embeds the fields of Chart.yaml as a struct, which sigs.k8s.io/yaml does not look into: numbers become strings
        // only outside of it.
        let is_own = OWN.contains(&name);
        let mut fields = Fields { decoder, lenient: is_own && dialect == Dialect::Yaml };
        let metadata = &mut draft.metadata;
        match name {
            "name" => fields.text(value, &mut metadata.name),
            "home" => fields.text(value, &mut metadata.home),
            "sources" => fields.texts(value, &mut metadata.sources),
            "version" => fields.text(value, &mut metadata.version),
            "description" => fields.text(value, &mut metadata.description),
            "keywords" => fields.texts(value, &mut metadata.keywords),
            "maintainers" => {
                let target = &mut draft.maintainers;
                fields.decoder.structs(value, "v2.Maintainer", target, maintainer);
            }
            "icon" => fields.text(value, &mut metadata.icon),
            "apiVersion" => fields.text(value, &mut metadata.api_version),
            "condition" => fields.text(value, &mut metadata.condition),
            "tags" => fields.text(value, &mut metadata.tags),
            "appVersion" => fields.text(value, &mut metadata.app_version),
            "deprecated" => fields.decoder.bool(value, &mut metadata.deprecated),
            "annotations" => {
                fields.check(value.as_map().into_iter().flat_map(|map| map.values()));
                fields.decoder.string_map(value, &mut metadata.annotations);
            }
            "kubeVersion" => fields.text(value, &mut metadata.kube_version),
            "dependencies" => {
                let target = &mut draft.dependencies;
                fields.decoder.structs(value, "v2.Dependency", target, dependency);
            }
            "type" => fields.text(value, &mut metadata.kind),
            "urls" => fields.texts(value, &mut entry.urls),
            "created" => fields.decoder.time(value, &mut entry.created, Timestamp::parse),
            "removed" => fields.decoder.bool(value, &mut entry.removed),
            "digest" => fields.text(value, &mut entry.digest),
            "checksum" => fields.text(value, &mut entry.legacy[0]),
            "engine" => fields.text(value, &mut entry.legacy[1]),
            "tillerVersion" => fields.text(value, &mut entry.legacy[2]),
            _ => fields.text(value, &mut entry.legacy[3]),
        }
    });
    if let Some(problem) = decoder.problem(node) {
        return Decoded::Wrong(problem);
    }
    checked(chart, draft, entry)
}

/// Checks the metadata of an entry. Dependencies that share a name are let through, since some servers lose aliases.
fn checked(chart: &str, mut draft: Draft, mut entry: VersionEntry) -> Decoded {
    if draft.metadata.api_version.is_empty() {
        V1.clone_into(&mut draft.metadata.api_version);
    }
    let version = draft.metadata.version.clone();
    let gaps =
        draft.maintainers.iter().any(Option::is_none) || draft.dependencies.iter().any(Option::is_none);
    let verdict = if gaps {
        draft.validate().map(|_| Metadata::default())
    } else {
        let mut metadata = draft.metadata;
        metadata.maintainers = draft.maintainers.into_iter().flatten().collect();
        metadata.dependencies = draft.dependencies.into_iter().flatten().collect();
        match metadata.validate() {
            Err(error)
                if !error
                    .to_string()
                    .starts_with("validation: more than one dependency with name or alias") =>
            {
                Err(error)
            }
            _ => Ok(metadata),
        }
    };
    match verdict {
        Ok(metadata) => {
            entry.metadata = metadata;
            Decoded::Entry(Box::new(entry))
        }
        Err(error) => {
            Decoded::Skipped(Skipped { chart: chart.to_owned(), invalid: Some((version, error.to_string())) })
        }
    }
}

/// The error about a whole value.
pub(super) fn clash(node: &Node, wanted: &str) -> Problem {
    Problem::Type { found: node.json_type(), path: String::new(), wanted: wanted.to_owned() }
}

fn names() -> [&'static str; 25] {
    let mut names = [""; 25];
    names[..17].copy_from_slice(&METADATA);
    names[17..].copy_from_slice(&OWN);
    names
}

/// A field that is being decoded.
struct Fields<'d> {
    decoder: &'d mut Decoder,
    /// Whether numbers and booleans become text.
    lenient: bool,
}

impl Fields<'_> {
    fn text(&mut self, value: &Node, target: &mut String) {
        self.check([value]);
        self.decoder.string(value, target);
    }

    fn texts(&mut self, value: &Node, target: &mut Vec<String>) {
        self.check(value.as_list().unwrap_or_default());
        self.decoder.strings(value, target);
    }

    /// Notes the first value that is not a string, unless lenient.
    fn check<'n>(&mut self, values: impl IntoIterator<Item = &'n Node>) {
        let odd = |value: &&Node| !self.lenient && !matches!(value, Node::Nil | Node::Str(_));
        if let Some(value) = values.into_iter().find(odd) {
            self.decoder.clash(value, "string");
        }
    }
}

fn maintainer(decoder: &mut Decoder, value: &Node, target: &mut Maintainer) {
    decoder.fields(value, &MAINTAINER, |decoder, name, value| {
        let slot = match name {
            "name" => &mut target.name,
            "email" => &mut target.email,
            _ => &mut target.url,
        };
        Fields { decoder, lenient: false }.text(value, slot);
    });
}

fn dependency(decoder: &mut Decoder, value: &Node, target: &mut Dependency) {
    decoder.fields(value, &DEPENDENCY, |decoder, name, value| {
        let mut fields = Fields { decoder, lenient: false };
        match name {
            "name" => fields.text(value, &mut target.name),
            "version" => fields.text(value, &mut target.version),
            "repository" => fields.text(value, &mut target.repository),
            "condition" => fields.text(value, &mut target.condition),
            "tags" => fields.texts(value, &mut target.tags),
            "enabled" => fields.decoder.bool(value, &mut target.enabled),
            "import-values" => fields.decoder.nodes(value, &mut target.import_values),
            _ => fields.text(value, &mut target.alias),
        }
    });
}
