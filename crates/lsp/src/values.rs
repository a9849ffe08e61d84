//! Where values are set: in the files of a chart, of the charts above it and below it, as globals, and by imports.

use std::collections::BTreeMap;

use pintle_tree::Str;

use crate::analysis::Analysis;
use crate::outline::{Id, Kind};
use crate::project::{FileId, FileKind, Instance, Project};
use crate::shape::{Object, ROOT_FIELDS, Segment, Shape, Types};

/// A value in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// The node of its outline.
    pub node: Id,
}

/// What a name that can be typed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// A map.
    Map,
    /// A list.
    List,
    /// Anything else.
    Value,
    /// A subchart.
    Chart,
    /// A field of one of Helm's objects.
    Field,
    /// A method.
    Method,
}

/// A name that can be typed.
#[derive(Clone, Debug)]
pub struct Key {
    /// What it is.
    pub kind: KeyKind,
    /// Where it is set.
    pub places: Vec<Place>,
    /// What it is for.
    pub about: String,
}

/// The paths that lead to the same value: those of the charts above, of globals, and of imports.
pub fn expand(project: &Project, instance: Instance, path: &[Segment]) -> Vec<(Instance, Vec<Segment>)> {
    let mut found: Vec<(Instance, Vec<Segment>)> = Vec::new();
    let is_global = matches!(path.first(), Some(Segment::Key(key)) if *key == "global");
    if is_global && instance == 0 {
        // Globals of every chart are visible in it and below it.
        for id in 0..project.instances.len() {
            add_chain(project, id as Instance, path.to_vec(), &mut found);
        }
    } else {
        add_chain(project, instance, path.to_vec(), &mut found);
    }
    found
}

/// A path, and those of the charts above that set the same.
fn add_chain(
    project: &Project,
    instance: Instance,
    path: Vec<Segment>,
    into: &mut Vec<(Instance, Vec<Segment>)>,
) {
    let mut chain = Vec::new();
    let (mut instance, mut path) = (instance, path);
    loop {
        chain.push((instance, path.clone()));
        let node = &project.instances[instance as usize];
        let Some(parent) = node.parent else { break };
        path.insert(0, Segment::Key(node.key.as_str().into()));
        instance = parent;
    }
    // The charts above take precedence.
    for step in chain.into_iter().rev() {
        if into.contains(&step) {
            continue;
        }
        let imported = imports(project, step.0, &step.1);
        into.push(step);
        for import in imported {
            if !into.contains(&import) {
                into.push(import);
            }
        }
    }
}

/// What `import-values` brings to a path.
fn imports(project: &Project, instance: Instance, path: &[Segment]) -> Vec<(Instance, Vec<Segment>)> {
    let mut found = Vec::new();
    for dependency in &project.chart_of(instance).dependencies {
        let Some(child) = project.child(instance, dependency.key()) else { continue };
        for (from, to) in &dependency.imports {
            let to: Vec<Segment> = to.iter().map(|key| Segment::Key(key.as_str().into())).collect();
            if path.len() > to.len() && path.starts_with(&to) {
                let from = from.iter().map(|key| Segment::Key(key.as_str().into()));
                found.push((child, from.chain(path[to.len()..].iter().cloned()).collect()));
            }
        }
    }
    found
}

/// The files with values of a chart, by precedence: the more special ones first.
pub fn values_files(project: &Project, instance: Instance) -> Vec<FileId> {
    let chart = &project.charts[project.instances[instance as usize].chart];
    let of =
        |kind: FileKind| chart.files.iter().copied().filter(move |file| project.files[*file].kind == kind);
    of(FileKind::Values).chain(of(FileKind::MoreValues)).collect()
}

impl Analysis {
    /// Where a value is set.
    pub fn places(&self, instance: Instance, path: &[Segment]) -> Vec<Place> {
        let project = &self.project;
        let mut found = Vec::new();
        for (instance, path) in expand(project, instance, path) {
            let steps: Vec<Option<String>> = path
                .iter()
                .map(|segment| match segment {
                    Segment::Key(key) => Some(key.to_str_lossy().into_owned()),
                    Segment::Any => None,
                })
                .collect();
            let steps: Vec<Option<&str>> = steps.iter().map(Option::as_deref).collect();
            for file in values_files(project, instance) {
                let Some(outline) = &project.file(file).text.outline else { continue };
                let Some(document) = outline.documents().find(|id| !outline.node(*id).children.is_empty())
                else {
                    continue;
                };
                for node in outline.find(document, &steps) {
                    let place = Place { file, node };
                    if !found.contains(&place) {
                        found.push(place);
                    }
                }
            }
        }
        found
    }

    /// The names that can follow a dot after something.
    pub fn keys(&self, types: &Types) -> BTreeMap<String, Key> {
        let mut keys = BTreeMap::new();
        for shape in types.shapes() {
            self.add_keys(shape, &mut keys);
            for (name, _) in self.extras.get(shape).into_iter().flatten() {
                add(&mut keys, name.to_str_lossy().into_owned(), KeyKind::Value, None, "set by a template");
            }
        }
        keys
    }

    fn add_keys(&self, shape: &Shape, keys: &mut BTreeMap<String, Key>) {
        match shape {
            Shape::Root(_) => {
                for (name, about) in ROOT_FIELDS {
                    add(keys, (*name).to_owned(), KeyKind::Field, None, about);
                }
            }
            Shape::Object(Object::Subcharts, instance) => {
                for child in &self.project.instances[*instance as usize].children {
                    let key = self.project.instances[*child as usize].key.clone();
                    add(keys, key, KeyKind::Chart, None, "the context of a subchart");
                }
            }
            Shape::Object(object, _) => {
                let methods = matches!(object, Object::Files | Object::ApiVersions);
                let kind = if methods { KeyKind::Method } else { KeyKind::Field };
                for (name, about) in object.fields() {
                    add(keys, (*name).to_owned(), kind, None, about);
                }
            }
            Shape::Values(instance, path) => self.add_values(*instance, path, keys),
            Shape::Dict(dict) => {
                for (name, entry) in dict.iter() {
                    let kind = if entry.types.is_unknown() { KeyKind::Value } else { KeyKind::Map };
                    add(keys, name.to_str_lossy().into_owned(), kind, None, "passed by the caller");
                }
            }
            _ => {}
        }
    }

    fn add_values(&self, instance: Instance, path: &[Segment], keys: &mut BTreeMap<String, Key>) {
        for place in self.places(instance, path) {
            let text = &self.project.file(place.file).text;
            let Some(outline) = &text.outline else { continue };
            for child in outline.children(place.node) {
                let node = outline.node(child);
                if node.kind != Kind::Entry {
                    continue;
                }
                let kind = if outline.is_list(child) {
                    KeyKind::List
                } else if outline.is_map(child) {
                    KeyKind::Map
                } else {
                    KeyKind::Value
                };
                let about = outline.comment(&text.text, child);
                add(keys, node.key.clone(), kind, Some(Place { file: place.file, node: child }), &about);
            }
        }
        for (name, about) in self.schema_keys(instance, path) {
            add(keys, name, KeyKind::Value, None, &about);
        }
        if path.is_empty() {
            for child in &self.project.instances[instance as usize].children {
                let key = self.project.instances[*child as usize].key.clone();
                let about = format!("The values of the subchart {}.", self.project.chart_of(*child).name);
                add(keys, key, KeyKind::Chart, None, &about);
            }
            if self.project.instances.len() > 1
                || !self.places(0, &[Segment::Key("global".into())]).is_empty()
            {
                add(keys, "global".to_owned(), KeyKind::Map, None, "The values that all charts share.");
            }
        }
    }
}

fn add(keys: &mut BTreeMap<String, Key>, name: String, kind: KeyKind, place: Option<Place>, about: &str) {
    let key = keys.entry(name).or_insert_with(|| Key { kind, places: Vec::new(), about: String::new() });
    if key.kind == KeyKind::Value {
        key.kind = kind;
    }
    key.places.extend(place);
    if key.about.is_empty() {
        key.about = about.to_owned();
    }
}

/// A path as users write it.
pub fn path_text(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Any => text.push_str("[*]"),
            Segment::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(&quoted_key(key));
            }
        }
    }
    text
}

fn quoted_key(key: &Str) -> String {
    let key = key.to_str_lossy().into_owned();
    if key.contains(['.', '[', ' ']) { format!("{key:?}") } else { key }
}
