//! `gen`: generates the tables of built-in kinds for the crate `embedded` from real API servers.
//!
//! The source is what servers publish: aggregated discovery and OpenAPI v3. Lines that versions share are written once, with a
//! bit mask of the versions. Descriptions are in a separate file, because only `explain` and OpenAPI documents need them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Map, Value, json};

use crate::cluster::{self, Cluster, ClusterSpec, Level, RELEASES, Release};
use crate::shell::{output, print_line, root};

/// Lines in the order of first appearance within their section, with the versions that have them.
#[derive(Default)]
struct Lines {
    order: Vec<String>,
    masks: BTreeMap<String, u8>,
}

impl Lines {
    fn add(&mut self, line: String, bit: u8) {
        match self.masks.get_mut(&line) {
            Some(mask) => *mask |= bit,
            None => {
                self.masks.insert(line.clone(), bit);
                self.order.push(line);
            }
        }
    }

    fn write(&self, word: &str, text: &mut String) {
        for line in &self.order {
            text.push_str(&format!("{word} {} {line}\n", self.masks[line]));
        }
    }
}

/// A client for one server.
struct Server<'s> {
    read: &'s dyn Fn(&str) -> Result<Value>,
    table: &'s dyn Fn(&str) -> Result<Value>,
}

/// The tables of all versions.
#[derive(Default)]
struct Tables {
    versions: Vec<String>,
    groups: Lines,
    resources: Lines,
    definitions: Lines,
    descriptions: Lines,
    columns: Lines,
}

/// Runs `gen [VERSION …]`: one control plane per version, newest first. Versions that are not named stay as they are in the tables.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let named: Vec<Release> = arguments.iter().map(|minor| Release::named(minor)).collect::<Result<_>>()?;
    let stored = if named.is_empty() { Vec::new() } else { stored_lines()? };
    let mut tables = Tables::default();
    for (index, kubernetes) in RELEASES.into_iter().enumerate() {
        let minor = kubernetes.minor;
        let bit = 1 << index;
        if !named.is_empty() && !named.contains(&kubernetes) {
            tables.keep(&stored, minor, bit)?;
            continue;
        }
        let name = format!("gen-{}", minor.replace('.', "-"));
        let spec = ClusterSpec { name: name.clone(), level: Level::ControlPlane, kubernetes, program: None };
        let cluster = cluster::up(&spec)?;
        let taken = tables.collect(&cluster, bit);
        cluster::down(&name)?;
        taken.with_context(|| format!("cannot take the tables of Kubernetes {minor}"))?;
    }
    tables.write()
}

/// The lines of the tables in the repository.
fn stored_lines() -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for name in ["kinds.z", "descriptions.z"] {
        let path = root().join("crates/embedded/tables").join(name);
        let file = fs::File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = std::io::read_to_string(ZlibDecoder::new(file))?;
        lines.extend(text.lines().map(ToOwned::to_owned));
    }
    Ok(lines)
}

impl Tables {
    /// Keeps what the stored tables have of one version.
    fn keep(&mut self, stored: &[String], minor: &str, bit: u8) -> Result<()> {
        let versions: Vec<&str> = stored.iter().filter_map(|line| line.strip_prefix("version ")).collect();
        let is_wanted =
            |version: &&str| version.strip_prefix(minor).is_some_and(|rest| rest.starts_with('.'));
        let index = versions.iter().position(is_wanted);
        let index = index.with_context(|| format!("the tables have no Kubernetes {minor}: name it, too"))?;
        self.versions.push(versions[index].to_owned());
        for line in stored {
            let mut words = line.splitn(3, ' ');
            let (Some(word), Some(mask), Some(rest)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let lines = match word {
                "group" => &mut self.groups,
                "resource" => &mut self.resources,
                "definition" => &mut self.definitions,
                "descriptions" => &mut self.descriptions,
                "columns" => &mut self.columns,
                _ => bail!("the tables have lines of an unknown form: `{word}`"),
            };
            if mask.parse::<u8>()? & (1 << index) != 0 {
                lines.add(rest.to_owned(), bit);
            }
        }
        Ok(())
    }

    fn collect(&mut self, cluster: &Cluster, bit: u8) -> Result<()> {
        let read = |path: &str| cluster.read(path).with_context(|| format!("no answer at {path}"));
        let version = read("/version")?;
        let numbers = version["gitVersion"].as_str().context("the server has a version")?;
        self.versions.push(numbers.trim_start_matches('v').to_owned());
        let index = read("/openapi/v3")?;
        let mut definitions = BTreeMap::new();
        for path in index["paths"].as_object().context("OpenAPI has an index")?.keys() {
            let document = read(&format!("/openapi/v3/{path}"))?;
            for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
                definitions.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
        let table = |path: &str| cluster.read_table(path).with_context(|| format!("no table at {path}"));
        let kinds = by_kind(&definitions);
        self.add_kinds(&read("/api")?, &read("/apis")?, &Server { read: &read, table: &table }, &kinds, bit)?;
        for (name, mut schema) in definitions {
            let mut descriptions = Vec::new();
            strip(&mut schema, &mut descriptions);
            self.definitions.add(format!("{name} {schema}"), bit);
            self.descriptions.add(format!("{name} {}", Value::from(descriptions)), bit);
        }
        Ok(())
    }

    fn add_kinds(
        &mut self,
        core: &Value,
        others: &Value,
        server: &Server<'_>,
        definitions: &BTreeMap<[String; 3], String>,
        bit: u8,
    ) -> Result<()> {
        let core = json!({"name": "", "versions": core["versions"]});
        let mut groups = vec![core];
        for group in others["groups"].as_array().context("discovery lists groups")? {
            let versions = group["versions"].as_array().into_iter().flatten().map(|it| it["version"].clone());
            groups.push(json!({"name": group["name"], "versions": versions.collect::<Vec<_>>()}));
        }
        for group in groups {
            self.groups.add(group.to_string(), bit);
            let name = group["name"].as_str().unwrap_or_default();
            for version in group["versions"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let path =
                    if name.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{name}/{version}") };
                for resource in resources(&(server.read)(&path)?, name, version, definitions) {
                    self.resources.add(resource.to_string(), bit);
                    self.add_columns(server, &path, &resource, bit)?;
                }
            }
        }
        Ok(())
    }

    /// The printer columns of a kind; none for kinds that cannot be listed.
    fn add_columns(&mut self, server: &Server<'_>, path: &str, resource: &Value, bit: u8) -> Result<()> {
        if !resource["verbs"].as_array().is_some_and(|verbs| verbs.contains(&json!("list"))) {
            return Ok(());
        }
        let plural = resource["plural"].as_str().unwrap_or_default();
        let table = (server.table)(&format!("{path}/{plural}?limit=1"))?;
        self.columns.add(format!("{path}/{plural} {}", table["columnDefinitions"]), bit);
        Ok(())
    }

    fn write(&self) -> Result<()> {
        let mut kinds = String::new();
        for version in &self.versions {
            kinds.push_str(&format!("version {version}\n"));
        }
        self.groups.write("group", &mut kinds);
        self.resources.write("resource", &mut kinds);
        sorted(&self.definitions).write("definition", &mut kinds);
        let mut descriptions = String::new();
        sorted(&self.descriptions).write("descriptions", &mut descriptions);
        sorted(&self.columns).write("columns", &mut descriptions);
        let folder = root().join("crates/embedded/tables");
        fs::create_dir_all(&folder)?;
        for (name, text) in [("kinds.z", kinds), ("descriptions.z", descriptions), ("go.z", go_types()?)] {
            let packed = pack(&text)?;
            print_line(&format!("{name}: {} bytes of {}", packed.len(), text.len()));
            fs::write(folder.join(name), packed)?;
        }
        Ok(())
    }
}

/// How the newest version's Go types look, printed by a program of the testbed.
fn go_types() -> Result<String> {
    let mut go = Command::new("go");
    go.args(["run", "./shapes"]).current_dir(root().join("testbed/kubernetes"));
    go.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOWORK", "off");
    Ok(String::from_utf8(output(&mut go)?)?)
}

/// By name, so that each version finds its definitions in order.
fn sorted(lines: &Lines) -> Lines {
    let mut order = lines.order.clone();
    order.sort();
    Lines { order, masks: lines.masks.clone() }
}

fn pack(text: &str) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    Ok(encoder.finish()?)
}

/// The names of definitions by group, version and kind. Types that all groups share, such as `DeleteOptions`, are left out.
fn by_kind(definitions: &BTreeMap<String, Value>) -> BTreeMap<[String; 3], String> {
    let mut found = BTreeMap::new();
    for (name, schema) in definitions {
        let kinds =
            schema["x-kubernetes-group-version-kind"].as_array().map(Vec::as_slice).unwrap_or_default();
        for kind in kinds.iter().filter(|_| kinds.len() < 4) {
            let text = |key: &str| kind[key].as_str().unwrap_or_default().to_owned();
            found.insert([text("group"), text("version"), text("kind")], name.clone());
        }
    }
    found
}

/// The kinds of one discovery list, each with its subresources.
fn resources(
    list: &Value,
    group: &str,
    version: &str,
    definitions: &BTreeMap<[String; 3], String>,
) -> Vec<Value> {
    let entries = list["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
    let (parts, whole): (Vec<&Value>, Vec<&Value>) =
        entries.iter().partition(|entry| name(entry).contains('/'));
    let resource = |entry: &Value| {
        let plural = name(entry);
        let kind = entry["kind"].as_str().unwrap_or_default().to_owned();
        let own = |part: &&&Value| name(part).split('/').next() == Some(plural.as_str());
        let subresources: Vec<Value> = parts.iter().filter(own).map(|part| subresource(part)).collect();
        let mut record = json!({
            "group": group, "version": version, "kind": kind, "plural": plural,
            "singular": entry["singularName"], "namespaced": entry["namespaced"], "verbs": entry["verbs"],
        });
        let mut add = |key: &str, value: &Value| {
            if !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()) {
                record[key] = value.clone();
            }
        };
        add("shortNames", &entry["shortNames"]);
        add("categories", &entry["categories"]);
        add("hash", &entry["storageVersionHash"]);
        add("subresources", &Value::from(subresources));
        let definition = definitions.get(&[group.to_owned(), version.to_owned(), kind]);
        add("definition", &definition.cloned().map_or(Value::Null, Value::from));
        record
    };
    whole.into_iter().map(resource).collect()
}

fn subresource(part: &Value) -> Value {
    let name = part["name"].as_str().and_then(|name| name.split_once('/')).map_or("", |(_, name)| name);
    let mut record = json!({"name": name, "kind": part["kind"], "verbs": part["verbs"]});
    for key in ["group", "version"] {
        if !part[key].is_null() {
            record[key] = part[key].clone();
        }
    }
    record
}

/// Takes the descriptions out of a schema, in the order of a walk: its own, then those of its properties by name, of
/// its elements, and of its other fields.
fn strip(schema: &mut Value, descriptions: &mut Vec<Value>) {
    let Some(map) = schema.as_object_mut() else { return };
    descriptions.push(map.remove("description").unwrap_or_default());
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        each(properties, descriptions);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = map.get_mut(key) {
            strip(child, descriptions);
        }
    }
}

fn each(properties: &mut Map<String, Value>, descriptions: &mut Vec<Value>) {
    for schema in properties.values_mut() {
        strip(schema, descriptions);
    }
}
