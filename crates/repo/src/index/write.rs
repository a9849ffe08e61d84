//! `repo index`: an index of the archives in a folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pintle_chart::metadata::{Timestamp, V1};
use pintle_tree::{Map, Node, json};
use sha2::{Digest as _, Sha256};

use super::catalog::{VersionHead, sorted};
use super::choose::choose;
use super::side::read_to_end;
use super::{Receiver, Skipped, VersionEntry, read};
use crate::address::url_join;
use crate::atomic;
use crate::error::{Error, Result, refused};

/// A whole index.
#[derive(Clone, Debug, Default)]
pub struct IndexDocument {
    /// When it was made.
    pub generated: Timestamp,
    /// The versions of each chart.
    pub entries: BTreeMap<String, Vec<VersionEntry>>,
}

/// Collects all entries of an index.
#[derive(Default)]
struct Whole {
    entries: BTreeMap<String, Vec<VersionEntry>>,
    chart: String,
}

impl Receiver for Whole {
    fn chart(&mut self, name: &str) {
        name.clone_into(&mut self.chart);
        self.entries.insert(name.to_owned(), Vec::new());
    }

    fn version(&mut self, entry: VersionEntry) {
        self.entries.entry(self.chart.clone()).or_default().push(entry);
    }

    fn reset(&mut self) {
        *self = Whole::default();
    }
}

impl IndexDocument {
    /// Reads a whole index file.
    ///
    /// # Errors
    /// Files that cannot be read, and texts that are no index.
    pub fn load(path: &Path) -> Result<(IndexDocument, Vec<Skipped>)> {
        let text = read_to_end(fs::File::open(path).map_err(refused("open", path))?, path)?;
        let mut whole = Whole::default();
        let skipped = read(&text, &mut whole)
            .map_err(|error| error.within(&format!("error loading {}", path.display())))?;
        let mut index = IndexDocument { entries: whole.entries, ..IndexDocument::default() };
        index.sort();
        Ok((index, skipped))
    }

    /// Adds the versions that this index lacks. As in Helm, a version counts as a constraint when it is looked up.
    pub fn merge(&mut self, other: IndexDocument) -> Vec<pintle_tree::LogLine> {
        let mut log = Vec::new();
        for entry in other.entries.into_values().flatten() {
            let (name, version) = (entry.metadata.name.clone(), entry.metadata.version.clone());
            let here = self.entries.get(&name).map(Vec::as_slice).unwrap_or_default();
            let heads: Vec<VersionHead> = here
                .iter()
                .map(|entry| VersionHead {
                    version: entry.metadata.version.clone(),
                    ..VersionHead::default()
                })
                .collect();
            match choose(&name, &heads, &version) {
                Ok(chosen) => log.extend(chosen.log),
                Err(_) => self.entries.entry(name).or_default().push(entry),
            }
        }
        log
    }

    /// Sorts the versions of every chart, the newest first.
    pub fn sort(&mut self) {
        for versions in self.entries.values_mut() {
            *versions = sorted(std::mem::take(versions), |entry| &entry.metadata.version);
        }
    }

    /// Writes the index, as YAML or as JSON.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, path: &Path, as_json: bool) -> Result<()> {
        let bytes = if as_json { self.to_json()? } else { self.to_yaml()? };
        atomic::write(path, &bytes, 0o644).map(drop).map_err(refused("open", path))
    }

    fn to_yaml(&self) -> Result<Vec<u8>> {
        pintle_yaml::write(&self.to_node()).map_err(|error| Error::Index(error.to_string()))
    }

    fn to_json(&self) -> Result<Vec<u8>> {
        let wrong = |error: json::Error| Error::Index(error.to_string());
        json::write_pretty(&self.ordered()).map_err(wrong)
    }

    fn to_node(&self) -> Node {
        let entries = self.entries.iter().map(|(name, versions)| {
            let versions = versions.iter().map(|entry| Node::Map(entry.fields().into_iter().collect()));
            (name.as_str().into(), Node::List(versions.collect()))
        });
        let mut map = Map::new();
        map.insert("apiVersion".into(), V1.into());
        map.insert("generated".into(), self.generated.to_string().into());
        map.insert("entries".into(), Node::Map(entries.collect()));
        Node::Map(map)
    }

    /// The fields in the order in which Go writes them.
    fn ordered(&self) -> Fields<'_> {
        Fields(self)
    }
}

/// The index in the order of Go's structs.
struct Fields<'i>(&'i IndexDocument);

impl pintle_tree::Walk for Fields<'_> {
    fn walk<S: pintle_tree::Sink>(&self, sink: &mut S) -> std::result::Result<(), S::Error> {
        sink.begin_fields(3)?;
        sink.key(b"apiVersion")?;
        Node::from(V1).walk(sink)?;
        sink.key(b"generated")?;
        Node::from(self.0.generated.to_string()).walk(sink)?;
        sink.key(b"entries")?;
        sink.begin_fields(self.0.entries.len())?;
        for (name, versions) in &self.0.entries {
            sink.key(name.as_bytes())?;
            sink.begin_list(versions.len())?;
            for entry in versions {
                let fields = entry.fields();
                sink.begin_fields(fields.len())?;
                for (key, value) in fields {
                    sink.key(key.as_bytes())?;
                    match (struct_order(key.as_bytes()), value.as_list()) {
                        (Some(order), Some(items)) => walk_structs(items, order, sink)?,
                        _ => value.walk(sink)?,
                    }
                }
                sink.end_map()?;
            }
            sink.end_list()?;
        }
        sink.end_map()?;
        sink.end_map()
    }
}

/// The order in which Go writes the fields of the structs in a list of the metadata.
fn struct_order(list: &[u8]) -> Option<&'static [&'static str]> {
    match list {
        b"maintainers" => Some(&["name", "email", "url"]),
        b"dependencies" => {
            Some(&["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"])
        }
        _ => None,
    }
}

fn walk_structs<S: pintle_tree::Sink>(
    items: &[Node],
    order: &[&str],
    sink: &mut S,
) -> std::result::Result<(), S::Error> {
    use pintle_tree::Walk as _;
    sink.begin_list(items.len())?;
    for item in items {
        let fields: Vec<(&str, &Node)> =
            order.iter().filter_map(|name| Some((*name, item.get(name)?))).collect();
        sink.begin_fields(fields.len())?;
        for (name, value) in fields {
            sink.key(name.as_bytes())?;
            value.walk(sink)?;
        }
        sink.end_map()?;
    }
    sink.end_list()
}

/// The order of the fields of a chart in Go.
const ORDER: [&str; 17] = pintle_chart::metadata::METADATA;

impl VersionEntry {
    /// The fields that are not empty, in Go's order.
    fn fields(&self) -> Vec<(pintle_tree::Str, Node)> {
        let mut fields: Vec<(pintle_tree::Str, Node)> = Vec::new();
        let metadata = self.metadata.to_full_node();
        for name in ORDER {
            if let Some(value) = metadata.get(name) {
                fields.push((name.into(), value.clone()));
            }
        }
        let mut put = |name: &str, value: Node| fields.push((name.into(), value));
        put("urls", Node::List(self.urls.iter().map(|url| url.as_str().into()).collect()));
        put("created", self.created.to_string().into());
        if self.removed {
            put("removed", Node::Bool(true));
        }
        if !self.digest.is_empty() {
            put("digest", self.digest.as_str().into());
        }
        for (name, text) in ["checksum", "engine", "tillerVersion", "url"].iter().zip(&self.legacy) {
            if !text.is_empty() {
                put(name, text.as_str().into());
            }
        }
        fields
    }
}

/// Makes an index of the archives in a folder and in the folders directly below it. `url` is where they will be.
///
/// # Errors
/// Files that cannot be read, and charts with invalid metadata. Archives that are not charts are skipped.
pub fn index_directory(folder: &Path, url: &str, now: Timestamp) -> Result<IndexDocument> {
    let mut index = IndexDocument { generated: now, ..IndexDocument::default() };
    let mut archives = archives(folder, "");
    for below in names(folder) {
        if folder.join(&below).is_dir() {
            archives.extend(self::archives(&folder.join(&below), &below));
        }
    }
    for (path, parent, name) in archives {
        let parent_url = url_join(url, &parent);
        let Ok(mut chart) = pintle_chart::load(&path, &mut Vec::new()) else { continue };
        let digest = hash(&path)?;
        if chart.metadata.api_version.is_empty() {
            V1.clone_into(&mut chart.metadata.api_version);
        }
        let metadata = &mut chart.metadata;
        metadata.validate().map_err(|error| {
            Error::Index(format!("failed adding to {name} to index: validate failed for {name}: {error}"))
        })?;
        let address = if parent_url.is_empty() { name } else { url_join(&parent_url, &name) };
        let entry = VersionEntry {
            metadata: chart.metadata,
            urls: vec![address],
            created: now,
            digest,
            ..VersionEntry::default()
        };
        index.entries.entry(entry.metadata.name.clone()).or_default().push(entry);
    }
    Ok(index)
}

fn archives(folder: &Path, parent: &str) -> Vec<(PathBuf, String, String)> {
    let names = names(folder).into_iter().filter(|name| name.ends_with(".tgz"));
    names.map(|name| (folder.join(&name), parent.to_owned(), name)).collect()
}

/// The names in a folder, sorted; empty if it cannot be read, as with Go's glob.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.sort();
    names
}

fn hash(path: &Path) -> Result<String> {
    let mut file = fs::File::open(path).map_err(refused("open", path))?;
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut hasher).map_err(refused("read", path))?;
    Ok(crate::content::hex(&hasher.finalize()))
}
