//! The registry mapping file: where the images of each registry go, which stay, and the default.

use pintle_tree::{Map, Node};

use crate::error::{Error, MappingProblem, Result};
use crate::registry::{Source, Target};

mod edit;
mod lines;
mod skeleton;

pub use edit::{remove, set};
pub use skeleton::skeleton;

/// Accepted file extensions.
const ENDINGS: [&str; 2] = [".yaml", ".yml"];

/// One source registry and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// A registry, or a wildcard for all hosts below a domain.
    pub source: Source,
    /// The target; no strategy prefix is added below it.
    pub target: Target,
    /// Disabled entries are ignored.
    pub enabled: bool,
    /// The free-text description from the file.
    pub description: String,
}

/// A parsed mapping file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingFile {
    /// The file name, for messages.
    pub file: String,
    /// The entries, in file order.
    pub mappings: Vec<Mapping>,
    /// The target for source registries without an entry.
    pub default_target: Option<Target>,
    /// Whether every source registry must have an entry (`strictMode`).
    pub strict: bool,
    /// Registries whose images are never moved.
    pub excludes: Vec<Source>,
}

impl MappingFile {
    /// Parses a mapping file.
    ///
    /// # Errors
    /// Returns every problem with its line and entry. A file in the flat form is rejected with its structured
    /// equivalent.
    pub fn parse(file: &str, text: &[u8]) -> Result<Self> {
        check_name(file)?;
        let root = match pintle_yaml::read(text) {
            Ok(Node::Map(root)) if !root.is_empty() => root,
            Ok(Node::Nil | Node::Map(_)) => return Err(whole_file(file, "the file is empty".to_owned())),
            Ok(other) => {
                return Err(whole_file(
                    file,
                    format!("it holds a {} where a map is expected", other.json_type()),
                ));
            }
            Err(error) => {
                let problem =
                    MappingProblem { line: error.line(), entry: String::new(), problem: error.to_string() };
                return Err(Error::Mapping { file: file.to_owned(), problems: vec![problem] });
            }
        };
        reject_flat(file, &root)?;
        let mut parser = Parser { text, problems: Vec::new(), ignores_empty: ignores_empty(&root) };
        let mut mapping = parser.root(&root);
        mapping.file = file.to_owned();
        parser.problems.sort_by_key(|problem| problem.line);
        match parser.problems.is_empty() {
            true => Ok(mapping),
            false => Err(Error::Mapping { file: file.to_owned(), problems: parser.problems }),
        }
    }

    /// The most specific enabled entry for images of `registry`, which must be normalised.
    pub fn find(&self, registry: &str) -> Option<&Mapping> {
        let fitting =
            self.mappings.iter().filter(|mapping| mapping.enabled && mapping.source.matches(registry));
        // Sources are unique, so no two entries that match have the same rank.
        fitting.max_by_key(|mapping| mapping.source.rank())
    }

    /// The sources of all enabled entries.
    pub fn sources(&self) -> Vec<Source> {
        self.mappings.iter().filter(|mapping| mapping.enabled).map(|mapping| mapping.source.clone()).collect()
    }
}

/// Checks the extension of a mapping file.
///
/// # Errors
/// When the name ends in neither `.yaml` nor `.yml`.
pub fn check_name(file: &str) -> Result<()> {
    match ENDINGS.iter().any(|ending| file.ends_with(ending)) {
        true => Ok(()),
        false => Err(whole_file(file, "its name must end in .yaml or .yml".to_owned())),
    }
}

fn whole_file(file: &str, problem: String) -> Error {
    let problem = MappingProblem { line: None, entry: String::new(), problem };
    Error::Mapping { file: file.to_owned(), problems: vec![problem] }
}

fn ignores_empty(root: &Map<Node>) -> bool {
    let compatibility = root.get("compatibility").and_then(|node| node.get("ignoreEmptyFields"));
    compatibility.and_then(Node::as_bool).unwrap_or_default()
}

/// Rejects the flat form (`docker.io: target`) with the structured text to write instead.
fn reject_flat(file: &str, root: &Map<Node>) -> Result<()> {
    let is_flat = !root.contains_key("registries")
        && root
            .iter()
            .all(|(key, node)| key.as_str().is_some_and(|key| key.contains('.')) && node.as_str().is_some());
    if !is_flat {
        return Ok(());
    }
    let mut structured = "registries:\n  mappings:\n".to_owned();
    for (source, target) in root.iter() {
        let target = target.as_str().unwrap_or_default();
        structured.push_str(&format!("    - source: {}\n      target: {target}\n", source.to_str_lossy()));
    }
    Err(Error::FlatMapping { file: file.to_owned(), structured })
}

/// Parses one file and collects all problems.
struct Parser<'t> {
    text: &'t [u8],
    problems: Vec<MappingProblem>,
    ignores_empty: bool,
}

impl Parser<'_> {
    fn root(&mut self, root: &Map<Node>) -> MappingFile {
        let mut file = MappingFile::default();
        for (key, node) in root.iter() {
            match key.as_bytes() {
                b"version" | b"compatibility" => {}
                b"registries" => self.registries(node, &mut file),
                b"exclude_registries" => file.excludes = self.excludes(node),
                _ => self
                    .unknown(&key.to_str_lossy(), "version, registries, exclude_registries, compatibility"),
            }
        }
        file
    }

    fn registries(&mut self, node: &Node, file: &mut MappingFile) {
        let Some(registries) = node.as_map() else {
            return self.problem("registries", "registries", "must be a map with `mappings`".to_owned());
        };
        for (key, node) in registries.iter() {
            match key.as_bytes() {
                b"mappings" => file.mappings = self.mappings(node),
                b"defaultTarget" => file.default_target = self.default_target(node),
                b"strictMode" => file.strict = self.flag("registries.strictMode", "strictMode", node, false),
                _ => {
                    let key = format!("registries.{}", key.to_str_lossy());
                    self.unknown(&key, "mappings, defaultTarget, strictMode");
                }
            }
        }
    }

    fn excludes(&mut self, node: &Node) -> Vec<Source> {
        let Some(list) = node.as_list() else {
            if !node.is_nil() {
                let problem = "must be a list of registries".to_owned();
                self.problem("exclude_registries", "exclude_registries", problem);
            }
            return Vec::new();
        };
        let mut excludes = Vec::new();
        for (index, node) in list.iter().enumerate() {
            match Source::parse(node.as_str().unwrap_or_default()) {
                Ok(source) => excludes.push(source),
                Err(error) => {
                    let entry = format!("exclude_registries[{index}]");
                    self.problem(&entry, "exclude_registries", error.to_string());
                }
            }
        }
        excludes
    }

    fn default_target(&mut self, node: &Node) -> Option<Target> {
        if node.is_nil() || node.as_str() == Some("") {
            return None;
        }
        match Target::parse(node.as_str().unwrap_or_default()) {
            Ok(target) => Some(target),
            Err(error) => {
                self.problem("registries.defaultTarget", "defaultTarget", error.to_string());
                None
            }
        }
    }

    fn mappings(&mut self, node: &Node) -> Vec<Mapping> {
        let Some(list) = node.as_list() else {
            if !node.is_nil() {
                let problem = "must be a list of `source` and `target`".to_owned();
                self.problem("registries.mappings", "mappings", problem);
            }
            return Vec::new();
        };
        let lines = lines::item_lines(self.text, "mappings");
        let mut mappings: Vec<(usize, Mapping)> = Vec::new();
        for (index, node) in list.iter().enumerate() {
            let location = EntryLocation {
                entry: format!("registries.mappings[{index}]"),
                line: lines.get(index).copied(),
            };
            let Some(mapping) = self.mapping(node, &location) else { continue };
            if let Some((earlier, _)) = mappings.iter().find(|(_, other)| other.source == mapping.source) {
                let problem = format!(
                    "duplicate source '{}', which registries.mappings[{earlier}] has already",
                    mapping.source
                );
                self.entry_problem(&location, "source", problem);
            }
            // Even a duplicate: further problems of the file are found in the same run.
            mappings.push((index, mapping));
        }
        mappings.into_iter().map(|(_, mapping)| mapping).collect()
    }

    fn mapping(&mut self, node: &Node, location: &EntryLocation) -> Option<Mapping> {
        let Some(entry) = node.as_map() else {
            self.entry_problem(location, "", "must be a map with `source` and `target`".to_owned());
            return None;
        };
        let known = ["source", "target", "enabled", "description"];
        for (key, _) in
            entry.iter().filter(|(key, _)| !known.iter().any(|known| key.as_bytes() == known.as_bytes()))
        {
            let key = key.to_str_lossy().into_owned();
            self.entry_problem(location, &key, format!("unknown key; known are: {}", known.join(", ")));
        }
        let text = |key: &str| entry.get(key).and_then(Node::as_str).unwrap_or_default();
        if self.ignores_empty && (text("source").is_empty() || text("target").is_empty()) {
            return None;
        }
        let source = self.source(text("source"), location);
        let target = self.target(text("target"), location);
        let enabled = match entry.get("enabled") {
            None | Some(Node::Nil) => true,
            Some(Node::Bool(enabled)) => *enabled,
            Some(_) => {
                self.entry_problem(location, "enabled", "must be true or false".to_owned());
                true
            }
        };
        Some(Mapping {
            source: source?,
            target: target?,
            enabled,
            description: text("description").to_owned(),
        })
    }

    fn source(&mut self, text: &str, location: &EntryLocation) -> Option<Source> {
        match Source::parse(text) {
            Ok(source) if source.can_match() => Some(source),
            Ok(_) => {
                let problem = format!(
                    "Invalid source registry '{text}': has neither a dot nor a port, so that no image names it"
                );
                self.entry_problem(location, "source", problem);
                None
            }
            Err(error) => {
                self.entry_problem(location, "source", error.to_string());
                None
            }
        }
    }

    fn target(&mut self, text: &str, location: &EntryLocation) -> Option<Target> {
        match Target::parse(text) {
            Ok(target) if !target.path.is_empty() => Some(target),
            Ok(_) => {
                let problem = format!(
                    "invalid target registry '{text}': must contain a '/' and a path, as in {text}/mirror"
                );
                self.entry_problem(location, "target", problem);
                None
            }
            Err(error) => {
                self.entry_problem(location, "target", error.to_string());
                None
            }
        }
    }

    fn flag(&mut self, entry: &str, key: &str, node: &Node, default: bool) -> bool {
        match node {
            Node::Bool(value) => *value,
            Node::Nil => default,
            _ => {
                self.problem(entry, key, "must be true or false".to_owned());
                default
            }
        }
    }

    fn unknown(&mut self, entry: &str, known: &str) {
        let key = entry.rsplit('.').next().unwrap_or(entry);
        self.problem(entry, key, format!("unknown key; known are: {known}"));
    }

    fn problem(&mut self, entry: &str, key: &str, problem: String) {
        let line = lines::key_line(self.text, key);
        self.problems.push(MappingProblem { line, entry: entry.to_owned(), problem });
    }

    fn entry_problem(&mut self, location: &EntryLocation, key: &str, problem: String) {
        let entry = if key.is_empty() { location.entry.clone() } else { format!("{}.{key}", location.entry) };
        let line = location.line.map(|line| lines::key_line_in_item(self.text, key, line));
        self.problems.push(MappingProblem { line, entry, problem });
    }
}

/// An item of the `mappings` list, for messages.
struct EntryLocation {
    entry: String,
    line: Option<usize>,
}

#[cfg(test)]
mod tests;
