//! Keys and values in values files, Chart.yaml and suites.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Item, ItemKind, lists};
use crate::analysis::Analysis;
use crate::fields;
use crate::outline::Outline;
use crate::project::{FileId, FileKind};
use crate::shape::{Segment, Shape, Types};
use crate::values::KeyKind;

/// What is being typed in a line of YAML.
enum Typing {
    /// A key in the node.
    Key { container: usize, replace: Range<usize>, has_colon: bool },
    /// The value of the node.
    Value { node: usize, replace: Range<usize> },
}

fn typing(text: &str, outline: &Outline, offset: usize) -> Option<Typing> {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let end = text[offset..].find('\n').map_or(text.len(), |at| offset + at);
    let line = &text[start..end];
    let before = &text[start..offset];
    if before.trim_start().starts_with('#') || before.contains(" #") {
        return None;
    }
    let mut content = before.trim_start_matches(' ');
    let mut indent = before.len() - content.len();
    while let Some(rest) = content.strip_prefix("- ") {
        let rest_trimmed = rest.trim_start_matches(' ');
        indent += 2 + rest.len() - rest_trimmed.len();
        content = rest_trimmed;
    }
    if let Some(colon) = content.find(": ").or_else(|| content.ends_with(':').then(|| content.len() - 1)) {
        let key = start + indent;
        let node = outline.nodes().find(|(_, node)| node.key_range.start == key && !node.key.is_empty())?.0;
        let value = key + colon + 1;
        let from = value + (text[value..offset].len() - text[value..offset].trim_start().len());
        return Some(Typing::Value {
            node,
            replace: from..end.min(start + line.trim_end().len()).max(from).max(offset.min(end)),
        });
    }
    let from = start + indent;
    let rest = &text[offset..end];
    let word = rest.find([':', ' ', '\r']).unwrap_or(rest.len());
    let container = outline.container_at(from, indent);
    let has_colon = rest[word..].trim_start().starts_with(':');
    Some(Typing::Key { container, replace: from..offset + word, has_colon })
}

impl Analysis {
    /// What can be typed in a values file: what the chart, its subcharts, schemas and templates know.
    pub(super) fn complete_values(&self, file: FileId, offset: usize) -> Vec<Item> {
        let text = &self.project.file(file).text;
        let Some(outline) = &text.outline else { return Vec::new() };
        match typing(&text.text, outline, offset) {
            Some(Typing::Key { container, replace, has_colon }) => {
                let values = self.values_of(file, &outline.path(container));
                let there: Vec<&str> = outline
                    .node(container)
                    .children
                    .iter()
                    .map(|child| outline.node(*child))
                    .filter(|node| !node.key_range.contains(&offset) && node.key_range.end != offset)
                    .map(|node| node.key.as_str())
                    .collect();
                self.value_keys(&values, &replace, has_colon)
                    .into_iter()
                    .filter(|item| !there.contains(&item.label.as_str()))
                    .collect()
            }
            Some(Typing::Value { node, replace }) => {
                let values = self.values_of(file, &outline.path(node));
                let mut items = Vec::new();
                for (instance, path) in values {
                    for value in self.schema_values(instance, &path) {
                        items.push(Item::new(value, ItemKind::Value, replace.clone()));
                    }
                    for place in self.places(instance, &path) {
                        if place.file != file
                            && let Some(other) = self.scalar_text(place)
                            && items.iter().all(|item| item.label != other)
                        {
                            let detail = self.project.file(place.file).name.clone();
                            items.push(Item::new(other, ItemKind::Value, replace.clone()).about(detail, ""));
                        }
                    }
                }
                items
            }
            None => Vec::new(),
        }
    }

    fn value_keys(
        &self,
        values: &[(u16, Vec<Segment>)],
        replace: &Range<usize>,
        has_colon: bool,
    ) -> Vec<Item> {
        let shapes = values.iter().map(|(instance, path)| Shape::Values(*instance, path.clone().into()));
        let keys = self.keys(&Types::collect(shapes));
        let mut items: BTreeMap<String, Item> = BTreeMap::new();
        for (name, key) in keys {
            let kind = match key.kind {
                KeyKind::Map | KeyKind::Chart => ItemKind::Map,
                _ => ItemKind::Value,
            };
            let detail = key.places.first().map(|place| self.value_summary(*place)).unwrap_or_default();
            items.insert(name.clone(), Item::new(name, kind, replace.clone()).about(detail, key.about));
        }
        for (name, about) in self.read_keys(values) {
            let item = || {
                Item::new(name.clone(), ItemKind::Value, replace.clone()).about("read by templates", about)
            };
            items.entry(name.clone()).or_insert_with(item);
        }
        let mut items: Vec<Item> = items.into_values().collect();
        for item in items.iter_mut().filter(|_| !has_colon) {
            let name = if item.label.contains([':', '#', '{', '[', ' ']) {
                format!("{:?}", item.label)
            } else {
                item.label.clone()
            };
            item.insert = Some(format!("{name}:{}", if item.kind == ItemKind::Map { "" } else { " " }));
        }
        items
    }

    /// The keys below values that templates read.
    fn read_keys(&self, values: &[(u16, Vec<Segment>)]) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for file in self.project.templates() {
            let Some(tree) = &self.project.file(file).text.tree else { continue };
            for (node, of) in &self.facts(file).fields {
                let reads = of.shapes().iter().any(|shape| match shape {
                    Shape::Values(instance, path) => {
                        let value = (*instance, path.to_vec());
                        values.iter().any(|known| crate::thing::same_value(known, &value))
                    }
                    _ => false,
                });
                let name = tree.name(*node);
                if reads && !name.is_empty() {
                    let path = self.project.rendered_path(file).unwrap_or_default();
                    found.entry(name.to_owned()).or_insert(path);
                }
            }
        }
        found
    }

    /// Fields of the Kubernetes object that a template writes.
    pub(super) fn complete_object(&self, file: FileId, offset: usize) -> Vec<Item> {
        let text = &self.project.file(file).text;
        let Some(tree) = text.tree.as_ref().filter(|_| !text.too_large) else { return Vec::new() };
        let masked = fields::mask(tree, offset);
        let outline = Outline::read(&masked);
        match typing(&masked, &outline, offset) {
            Some(Typing::Key { container, replace, has_colon }) => {
                let Some(spot) = fields::spot(&self.project, &outline, &masked, container) else {
                    return object_start(&outline, container, &replace);
                };
                let there = outline.children(container);
                let written = |name: &str| {
                    there
                        .iter()
                        .map(|id| outline.node(*id))
                        .any(|node| node.key == name && node.key_range.start != replace.start)
                };
                let fields = spot.fields().into_iter().filter(|field| !written(&field.name));
                let item = |field: fields::Field| {
                    let mut item = Item::new(field.name.clone(), ItemKind::Field, replace.clone())
                        .about(field.kind, field.about);
                    if !has_colon {
                        item.insert =
                            Some(format!("{}:{}", field.name, if field.is_nested { "" } else { " " }));
                    }
                    item
                };
                fields.map(item).collect()
            }
            Some(Typing::Value { node, replace }) => {
                let values = match fields::spot(&self.project, &outline, &masked, node) {
                    Some(spot) => spot.values(),
                    None => Vec::new(),
                };
                values.into_iter().map(|value| Item::new(value, ItemKind::Value, replace.clone())).collect()
            }
            None => Vec::new(),
        }
    }

    /// Keys from a list that is known.
    pub(super) fn complete_static(&self, file: FileId, offset: usize, list: lists::List) -> Vec<Item> {
        let text = &self.project.file(file).text;
        let Some(outline) = &text.outline else { return Vec::new() };
        match typing(&text.text, outline, offset) {
            Some(Typing::Key { container, replace, has_colon }) => {
                let path: Vec<String> = outline.path(container).into_iter().flatten().collect();
                let end = if has_colon { "" } else { ": " };
                let keys = list.iter().filter(|(at, ..)| lists::matches(at, &path));
                let item = |(_, name, about): &(&str, &str, &str)| {
                    let mut item = Item::new(*name, ItemKind::Field, replace.clone()).about("", *about);
                    item.insert = Some(format!("{name}{end}"));
                    item
                };
                keys.map(item).collect()
            }
            Some(Typing::Value { node, replace }) => {
                let path = outline.path(node).into_iter().flatten().collect::<Vec<_>>().join(".");
                let words = match path.as_str() {
                    _ if self.project.file(file).kind != FileKind::ChartFile => Vec::new(),
                    "apiVersion" => vec!["v1".to_owned(), "v2".to_owned()],
                    "type" => vec!["application".to_owned(), "library".to_owned()],
                    "deprecated" => vec!["true".to_owned(), "false".to_owned()],
                    _ => self.dependency_words(file, &path),
                };
                words.into_iter().map(|word| Item::new(word, ItemKind::Value, replace.clone())).collect()
            }
            None => Vec::new(),
        }
    }

    /// What can be the name or the condition of a dependency, by the charts in `charts`.
    fn dependency_words(&self, file: FileId, path: &str) -> Vec<String> {
        let chart = self.project.file(file).chart;
        let Some(instance) = self.project.instances_of(chart).next() else { return Vec::new() };
        let mut words: Vec<String> = Vec::new();
        for child in &self.project.instances[instance as usize].children {
            let word = match path {
                "dependencies.name" => self.project.chart_of(*child).name.clone(),
                "dependencies.condition" => {
                    format!("{}.enabled", self.project.instances[*child as usize].key)
                }
                _ => continue,
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    /// Keys of suites, names of templates, and values to set.
    pub(super) fn complete_suite(&self, file: FileId, offset: usize) -> Vec<Item> {
        let text = &self.project.file(file).text;
        let Some(outline) = &text.outline else { return Vec::new() };
        let (container, replace, is_value) = match typing(&text.text, outline, offset) {
            Some(Typing::Key { container, replace, .. }) => (container, replace, false),
            Some(Typing::Value { node, replace }) => (node, replace, true),
            None => return Vec::new(),
        };
        let path: Vec<String> = outline.path(container).into_iter().flatten().collect();
        let last = path.last().map(String::as_str).unwrap_or_default();
        if last == "templates" || is_value && last == "template" {
            let chart = self.project.file(file).chart;
            let templates = self.project.charts[chart].files.iter().map(|id| self.project.file(*id));
            let templates = templates.filter(|file| file.kind == FileKind::Template);
            return templates
                .map(|file| Item::new(file.name.clone(), ItemKind::File, replace.clone()))
                .collect();
        }
        if !is_value && let Some(at) = path.iter().position(|key| key == "set") {
            let chart = self.project.file(file).chart;
            let segments: Vec<Segment> =
                path[at + 1..].iter().map(|key| Segment::Key(key.as_str().into())).collect();
            let values: Vec<(u16, Vec<Segment>)> =
                self.project.instances_of(chart).map(|instance| (instance, segments.clone())).collect();
            return self.value_keys(&values, &replace, false);
        }
        if is_value { Vec::new() } else { self.complete_static(file, offset, lists::SUITE) }
    }
}

/// What every object starts with, in a document that has no kind yet.
fn object_start(outline: &Outline, container: usize, replace: &Range<usize>) -> Vec<Item> {
    if outline.node(container).kind != crate::outline::Kind::Document
        || !outline.find(container, &[Some("kind")]).is_empty()
    {
        return Vec::new();
    }
    let words = [
        ("apiVersion", "The version of the API, as in `apps/v1`."),
        ("kind", "The kind, as in `Deployment`."),
        ("metadata", "Name, labels and annotations."),
    ];
    let item = |(name, about): (&str, &str)| {
        let mut item = Item::new(name, ItemKind::Field, replace.clone()).about("", about);
        item.insert = Some(format!("{name}: "));
        item
    };
    words.into_iter().map(item).collect()
}
