//! The tables of built-in kinds that `cargo xtask gen` takes from real API servers.
//!
//! A table is compressed text with one record per line: `version NUMBERS`, then `group MASK JSON`, `resource MASK
//! JSON` and `definition MASK NAME JSON`. The mask has one bit per Kubernetes version, so that what versions share is
//! stored once. Definitions are parsed on first use.

use std::io::Read as _;
use std::sync::OnceLock;

use pintle_tree::{Node, Str, json};

use super::resolved::Schema;
use super::resource::Resource;
use super::shape::Shape;

static PACKED: &[u8] = include_bytes!("../../tables/kinds.z");
/// The descriptions, which only OpenAPI documents and printer columns need.
static PACKED_DESCRIPTIONS: &[u8] = include_bytes!("../../tables/descriptions.z");

/// The number of versions: the bits of the mask.
const MAX_VERSIONS: usize = 8;

/// An API group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Empty for the core group.
    pub name: Str,
    /// Its versions, the preferred one first.
    pub versions: Vec<Str>,
}

/// OpenAPI definitions by name, parsed on first use.
#[derive(Default)]
pub struct Definitions {
    /// Sorted by name.
    entries: Vec<Definition>,
}

struct Definition {
    name: Str,
    source: Str,
    shape: OnceLock<Option<Box<Shape>>>,
}

impl Definitions {
    fn find(&self, name: &Str) -> Option<&Definition> {
        // `cargo xtask gen` writes the definitions in this order.
        let found = self.entries.binary_search_by(|entry| entry.name.cmp(name));
        found.ok().map(|index| &self.entries[index])
    }

    /// The parsed definition `name`.
    pub fn shape(&self, name: &Str) -> Option<&Shape> {
        let entry = self.find(name)?;
        let read = || Some(Box::new(Shape::parse(&json::read_exact(&entry.source).ok()?).ok()?));
        entry.shape.get_or_init(read).as_deref()
    }

    /// The definition `name` as JSON, without descriptions.
    pub fn source(&self, name: &Str) -> Option<Node> {
        json::read_exact(&self.find(name)?.source).ok()
    }

    /// The names of all definitions, in order.
    pub fn names(&self) -> impl Iterator<Item = &Str> {
        self.entries.iter().map(|entry| &entry.name)
    }
}

/// The built-in kinds of one Kubernetes version.
pub struct ApiCatalog {
    version: Str,
    bit: u8,
    groups: Vec<Group>,
    resources: Vec<Resource>,
    definitions: Definitions,
    descriptions: OnceLock<Documentation>,
}

/// Descriptions and printer columns, unpacked on first use.
#[derive(Default)]
struct Documentation {
    /// By definition name.
    fields: Vec<(Str, Node)>,
    /// By resource path.
    columns: Vec<(Str, Node)>,
}

/// Why there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// There is no table for this version.
    #[error("Kubernetes {asked} is not supported by the embedded cluster; supported versions: {known}")]
    Unknown {
        /// The requested version.
        asked: String,
        /// The supported versions.
        known: String,
    },
}

impl ApiCatalog {
    /// The supported versions of Kubernetes with all their numbers, newest first.
    pub fn versions() -> &'static [Str] {
        static VERSIONS: OnceLock<Vec<Str>> = OnceLock::new();
        VERSIONS.get_or_init(|| {
            let lines = text().as_bytes().split(|byte| *byte == b'\n');
            let words = lines.map_while(|line| line.strip_prefix(b"version "));
            words.take(MAX_VERSIONS).map(Str::from).collect()
        })
    }

    /// The table of the newest version.
    pub fn newest() -> &'static ApiCatalog {
        ApiCatalog::nth(0)
    }

    /// The catalog of a version: `1.37`, `v1.37` or `1.37.1`.
    ///
    /// # Errors
    ///
    /// If the version is not supported; the error lists those that are.
    pub fn for_version(version: &str) -> Result<&'static ApiCatalog, CatalogError> {
        // Kinds do not change within a minor version, and vendors append suffixes such as `-gke.1` or `+k3s1`.
        let wanted: Vec<&str> = version.trim_start_matches('v').split(['.', '-', '+']).take(2).collect();
        let is_wanted = |known: &Str| {
            known.as_str().is_some_and(|known| known.split('.').take(2).eq(wanted.iter().copied()))
        };
        match ApiCatalog::versions().iter().position(is_wanted) {
            Some(index) => Ok(ApiCatalog::nth(index)),
            None => {
                let known: Vec<String> = ApiCatalog::versions().iter().map(ToString::to_string).collect();
                Err(CatalogError::Unknown { asked: version.to_owned(), known: known.join(", ") })
            }
        }
    }

    fn nth(index: usize) -> &'static ApiCatalog {
        // Read once per process and version, and never dropped: references into it live as long as the process.
        static CATALOGS: [OnceLock<ApiCatalog>; MAX_VERSIONS] = [const { OnceLock::new() }; MAX_VERSIONS];
        CATALOGS[index].get_or_init(|| ApiCatalog::read(index))
    }

    fn read(index: usize) -> ApiCatalog {
        let bit = 1 << index;
        let mut table = ApiCatalog {
            version: ApiCatalog::versions().get(index).cloned().unwrap_or_default(),
            bit,
            groups: Vec::new(),
            resources: Vec::new(),
            definitions: Definitions::default(),
            descriptions: OnceLock::new(),
        };
        each_line(text(), bit, |word, rest| match word {
            "group" => table.groups.extend(json::read_exact(&rest).ok().as_ref().and_then(group)),
            "resource" => {
                table.resources.extend(json::read_exact(&rest).ok().as_ref().and_then(Resource::read))
            }
            "definition" => {
                if let Some((name, source)) = split(&rest) {
                    table.definitions.entries.push(Definition { name, source, shape: OnceLock::new() });
                }
            }
            _ => {}
        });
        table.sort_resources();
        table
    }

    /// Sorts the resources as discovery lists them: by group and version, then by name. In the file, those of several
    /// versions are merged.
    fn sort_resources(&mut self) {
        let groups = &self.groups;
        self.resources.sort_by_cached_key(|resource| {
            let group = groups.iter().position(|group| group.name == resource.group);
            let versions = group.map(|group| &groups[group].versions);
            let version =
                versions.and_then(|all| all.iter().position(|version| *version == resource.version));
            (group, version, resource.plural.clone())
        });
    }

    /// The full version, such as `1.37.1`.
    pub fn version(&self) -> &Str {
        &self.version
    }

    /// The minor version: 37 for `1.37`.
    pub fn minor(&self) -> u16 {
        let minor = self.version.as_str().and_then(|version| version.split('.').nth(1)?.parse().ok());
        minor.unwrap_or_default()
    }

    /// The groups in the order of discovery, core first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// All resources, by group.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The kind that `kind` names.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Resource> {
        let is_it = |it: &&Resource| it.group == *group && it.version == *version && it.kind == *kind;
        self.resources.iter().find(is_it)
    }

    /// All definitions.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The schema of objects of a built-in kind.
    pub fn schema(&self, resource: &Resource) -> Option<Schema<'_>> {
        self.definition(&resource.definition)
    }

    /// The schema of a definition, such as `io.k8s.api.core.v1.PodSpec`.
    pub fn definition(&self, name: &Str) -> Option<Schema<'_>> {
        self.definitions.shape(name).map(|shape| Schema::new(shape, &self.definitions))
    }

    /// The descriptions of a definition in the order of a walk: its own, then those of its properties by name.
    pub fn descriptions(&self, name: &Str) -> Option<&[Node]> {
        find(&self.documentation().fields, name)
    }

    /// The printer columns of a resource.
    pub fn columns(&self, resource: &Resource) -> Option<&[Node]> {
        let root = if resource.group.is_empty() { "/api" } else { "/apis" };
        let path = format!("{root}/{}/{}", resource.api_version(), resource.plural);
        find(&self.documentation().columns, &Str::from(path))
    }

    fn documentation(&self) -> &Documentation {
        self.descriptions.get_or_init(|| {
            let mut all = Documentation::default();
            each_line(&unpack(PACKED_DESCRIPTIONS), self.bit, |word, rest| {
                let list = if word == "columns" { &mut all.columns } else { &mut all.fields };
                list.extend(
                    split(&rest).and_then(|(name, source)| Some((name, json::read_exact(&source).ok()?))),
                );
            });
            all
        })
    }
}

fn find<'l>(list: &'l [(Str, Node)], name: &Str) -> Option<&'l [Node]> {
    let found = list.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
    list[found].1.as_list()
}

fn text() -> &'static Str {
    static TEXT: OnceLock<Str> = OnceLock::new();
    TEXT.get_or_init(|| unpack(PACKED))
}

/// The tables are compiled in and can be unpacked, or a test of this file fails.
fn unpack(packed: &[u8]) -> Str {
    let mut text = Vec::new();
    match flate2::read::ZlibDecoder::new(packed).read_to_end(&mut text) {
        Ok(_) => Str::from(text),
        Err(_) => Str::default(),
    }
}

/// Calls `each` with the first word and the rest of every line that applies to the version with this bit.
fn each_line(text: &Str, bit: u8, mut each: impl FnMut(&str, Str)) {
    let mut start = 0;
    for line in text.as_bytes().split_inclusive(|byte| *byte == b'\n') {
        // Slices of one buffer: definitions are neither copied nor parsed until they are used.
        let whole = text.slice(start..start + line.len() - usize::from(line.ends_with(b"\n")));
        start += line.len();
        let Some((word, rest)) = split(&whole) else { continue };
        let Some((mask, rest)) = split(&rest) else { continue };
        let counts =
            mask.as_str().and_then(|mask| mask.parse::<u8>().ok()).is_some_and(|mask| mask & bit != 0);
        if counts && let Some(word) = word.as_str() {
            each(word, rest);
        }
    }
}

fn split(text: &Str) -> Option<(Str, Str)> {
    let at = text.as_bytes().iter().position(|byte| *byte == b' ')?;
    Some((text.slice(0..at), text.slice(at + 1..text.len())))
}

fn group(node: &Node) -> Option<Group> {
    let versions = node.get("versions")?.as_list()?;
    Some(Group {
        name: node.get("name")?.as_text()?.clone(),
        versions: versions.iter().filter_map(|version| version.as_text().cloned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ListType, Type};

    #[test]
    fn every_definition_of_every_version_can_be_parsed() {
        assert!(ApiCatalog::versions().len() >= 3);
        for version in ApiCatalog::versions() {
            let table = ApiCatalog::for_version(version.as_str().unwrap()).unwrap();
            assert!(table.resources().len() > 60 && table.definitions().names().count() > 500);
            for name in table.definitions().names() {
                assert!(table.definitions().shape(name).is_some(), "{version} {name}");
            }
            for resource in table.resources().iter().filter(|it| it.can("create")) {
                assert!(table.schema(resource).is_some(), "{version} {}", resource.qualified_name());
            }
        }
    }

    #[test]
    fn the_schema_of_service_ports_is_resolved() {
        let table = ApiCatalog::newest();
        let service = table.schema(table.kind("", "v1", "Service").unwrap()).unwrap();
        let ports = service.field("spec").unwrap().field("ports").unwrap();
        assert_eq!(ports.list(), &ListType::Map(vec!["port".into(), "protocol".into()]));
        assert_eq!(ports.patch().unwrap().merge_key.as_ref().unwrap(), "port");
        let port = ports.items().unwrap();
        assert_eq!(port.field("protocol").unwrap().default(), Some(&Node::from("TCP")));
        assert_eq!(port.field("targetPort").unwrap().kind(), Type::IntOrString);
    }

    #[test]
    fn catalogs_are_found_by_minor_version() {
        let newest = ApiCatalog::newest().version().to_string();
        assert_eq!(ApiCatalog::for_version(&format!("v{newest}")).unwrap().version(), newest.as_str());
        assert!(ApiCatalog::for_version("1.2").err().unwrap().to_string().contains(&newest));
        assert!(ApiCatalog::for_version("").is_err());
    }
}
