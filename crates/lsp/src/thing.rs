//! What is under the cursor, where it comes from, and where else it is.

use std::collections::BTreeSet;
use std::ops::Range;

use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree};
use pintle_tree::Str;

use crate::analysis::Analysis;
use crate::outline::Kind;
use crate::project::{FileId, FileKind, Instance};
use crate::shape::{Object, Segment, Shape, Site, Types};

/// What a name in a file means.
#[derive(Clone, Debug, PartialEq)]
pub enum Thing {
    /// A value, or one of several, and the keys of maps that templates make.
    Value {
        /// The values.
        values: Vec<(Instance, Vec<Segment>)>,
        /// The keys.
        sites: BTreeSet<Site>,
        /// The name.
        name: String,
    },
    /// A field of one of Helm's objects.
    Field(Object, Instance, String),
    /// A field of the context, as `Values`.
    ContextField(String, Vec<Instance>),
    /// A variable, by its declaration. `None` is `$`.
    Variable(Option<NodeId>, String),
    /// A template.
    Template(Str),
    /// A function.
    Function(String),
    /// The dot.
    Dot(NodeId),
    /// `if`, `else`, `end` and the like, by their block.
    Keyword(NodeId),
    /// The name of a file of the chart.
    FileName(Instance, String),
    /// A key of Chart.yaml.
    ChartKey(Vec<String>),
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: usize,
    /// The end.
    pub end: usize,
}

impl Target {
    /// A part of a file.
    pub fn new(file: FileId, range: Range<usize>) -> Self {
        Target { file, start: range.start, end: range.end }
    }
}

impl Analysis {
    /// What is at an offset of a file, and the bytes of its name.
    pub fn thing_at(&self, file: FileId, offset: usize) -> Option<(Range<usize>, Thing)> {
        let source = self.project.file(file);
        match source.kind {
            FileKind::Template => self.in_template(file, source.text.tree.as_ref()?, offset),
            FileKind::Values | FileKind::MoreValues => self.in_values(file, offset),
            FileKind::ChartFile => {
                let outline = source.text.outline.as_ref()?;
                let id = outline.at(offset)?;
                let path = outline.path(id).into_iter().flatten().collect();
                Some((outline.node(id).key_range.clone(), Thing::ChartKey(path)))
            }
            _ => None,
        }
    }

    fn in_template(&self, file: FileId, tree: &SyntaxTree, offset: usize) -> Option<(Range<usize>, Thing)> {
        let node = tree.node_at(offset);
        let range = tree.range(node);
        let thing = match tree.kind(node) {
            NodeKind::Field => {
                let range = range.start + 1..range.end;
                return Some((range, self.field(file, tree, node)?));
            }
            NodeKind::Variable => {
                let facts = self.facts(file);
                let declaration = facts.declarations.get(&node).copied();
                let declares =
                    tree.parent(node).is_some_and(|parent| tree.kind(parent) == NodeKind::Declaration);
                let declaration = declaration.or_else(|| declares.then_some(node));
                Thing::Variable(declaration, tree.name(node).to_owned())
            }
            NodeKind::String => return self.string(file, tree, node),
            NodeKind::Function => Thing::Function(String::from_utf8_lossy(tree.text_of(node)).into_owned()),
            NodeKind::Dot => Thing::Dot(node),
            NodeKind::Opening | NodeKind::Else | NodeKind::End => {
                let word = keyword_range(tree, node)?;
                if !(word.start..=word.end).contains(&offset) {
                    return None;
                }
                return Some((word, Thing::Keyword(tree.parent(node)?)));
            }
            _ => return None,
        };
        Some((range, thing))
    }

    fn field(&self, file: FileId, tree: &SyntaxTree, node: NodeId) -> Option<Thing> {
        let facts = self.facts(file);
        self.named(facts.fields.get(&node)?, tree.name(node))
    }

    /// What a name means as a field of what may be several things.
    pub fn named(&self, of: &Types, name: &str) -> Option<Thing> {
        let mut values = Vec::new();
        let mut sites = BTreeSet::new();
        let mut roots = Vec::new();
        for shape in of.shapes() {
            if let Some(entry) = self.extras.get(shape).and_then(|keys| keys.get(name.as_bytes())) {
                sites.extend(entry.sites.iter().copied());
            }
            match shape {
                Shape::Root(instance)
                    if crate::shape::ROOT_FIELDS.iter().any(|(known, _)| *known == name) =>
                {
                    roots.push(*instance);
                }
                Shape::Object(Object::Subcharts, instance) => {
                    let child = self.project.child(*instance, name)?;
                    values.push((child, Vec::new()));
                }
                Shape::Object(object, instance) => {
                    return Some(Thing::Field(*object, *instance, name.to_owned()));
                }
                Shape::Dict(dict) => {
                    let entry = dict.get(name.as_bytes());
                    sites.extend(entry.into_iter().flat_map(|entry| entry.sites.iter().copied()));
                }
                _ => {}
            }
        }
        for shape in self.select(of, name).shapes() {
            if let Shape::Values(instance, path) = shape
                && of.shapes().iter().any(|shape| matches!(shape, Shape::Values(..)))
            {
                let value = (*instance, path.to_vec());
                // What a dict holds under this name is another value; its key is what is meant.
                let direct = of.shapes().iter().any(|of| match of {
                    Shape::Values(instance, path) => {
                        self.values_below(*instance, path, Segment::Key(name.into())) == *shape
                    }
                    _ => false,
                });
                if direct && !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        if !roots.is_empty() && values.is_empty() && sites.is_empty() {
            return Some(Thing::ContextField(name.to_owned(), roots));
        }
        (!values.is_empty() || !sites.is_empty()).then(|| Thing::Value {
            values,
            sites,
            name: name.to_owned(),
        })
    }

    /// The value below another one.
    pub fn values_below(&self, instance: Instance, path: &[Segment], next: Segment) -> Shape {
        let world = crate::infer::World { project: &self.project, extras: &self.extras };
        world.values(instance, path, next)
    }

    fn string(&self, file: FileId, tree: &SyntaxTree, node: NodeId) -> Option<(Range<usize>, Thing)> {
        let text = tree.string(node)?;
        let range = tree.range(node);
        let inner = range.start + 1..(range.end - 1).max(range.start + 1);
        let facts = self.facts(file);
        let is_name = facts.names.contains_key(&node)
            || tree.parent(node).is_some_and(|parent| {
                let kind = tree.kind(parent);
                kind == NodeKind::Call || kind == NodeKind::Opening
            });
        if is_name {
            return Some((inner, Thing::Template(text)));
        }
        if let Some(of) = facts.keys.get(&node) {
            return Some((inner, self.named(of, &text.to_str_lossy())?));
        }
        let command = tree.parent(node).filter(|command| tree.kind(*command) == NodeKind::Command)?;
        let first = tree.children(command).next()?;
        let of = facts.fields.get(&tree.last_child(first)?)?;
        let instance = of.shapes().iter().find_map(|shape| match shape {
            Shape::Object(Object::Files, instance) => Some(*instance),
            _ => None,
        })?;
        Some((inner, Thing::FileName(instance, text.to_str_lossy().into_owned())))
    }

    fn in_values(&self, file: FileId, offset: usize) -> Option<(Range<usize>, Thing)> {
        let outline = self.project.file(file).text.outline.as_ref()?;
        let id = outline.at(offset)?;
        let node = outline.node(id);
        let values = self.values_of(file, &outline.path(id));
        let range = if node.kind == Kind::Entry { node.key_range.clone() } else { node.value.clone() };
        Some((range, Thing::Value { values, sites: BTreeSet::new(), name: node.key.clone() }))
    }

    /// The values that a path in a values file sets.
    pub fn values_of(&self, file: FileId, path: &[Option<String>]) -> Vec<(Instance, Vec<Segment>)> {
        let mut values = Vec::new();
        for instance in self.project.instances_of(self.project.file(file).chart) {
            let mut shape = Shape::Values(instance, std::sync::Arc::from([]));
            for key in path {
                let Shape::Values(instance, path) = &shape else { continue };
                let segment = match key {
                    Some(key) => Segment::Key(key.as_str().into()),
                    None => Segment::Any,
                };
                shape = self.values_below(*instance, path, segment);
            }
            if let Shape::Values(instance, path) = shape {
                let value = (instance, path.to_vec());
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        values
    }

    // Where things are.

    /// Where a thing is defined. `file` is the one that it was found in.
    pub fn definitions(&self, file: FileId, thing: &Thing) -> Vec<Target> {
        let mut found: Vec<Target> = Vec::new();
        match thing {
            Thing::Value { values, sites, .. } => {
                for (instance, path) in values {
                    if path.is_empty() {
                        found.extend(self.values_files_of(*instance));
                    }
                    found.extend(self.key_targets(*instance, path));
                }
                found.extend(sites.iter().map(|(file, start, end)| Target::new(*file, *start..*end)));
            }
            Thing::ContextField(name, instances) => {
                for instance in instances {
                    match name.as_str() {
                        "Values" => found.extend(self.values_files_of(*instance)),
                        "Chart" => found.extend(self.chart_key(*instance, None)),
                        _ => {}
                    }
                }
            }
            Thing::Field(Object::Chart, instance, name) => {
                found.extend(self.chart_key(*instance, Some(name)))
            }
            Thing::Variable(Some(declaration), _) => {
                found.extend(self.tree(file).map(|tree| Target::new(file, tree.range(*declaration))));
            }
            Thing::Template(name) => found.extend(self.define_targets(name)),
            Thing::FileName(instance, name) => {
                let chart = self.project.instances[*instance as usize].chart;
                found.extend(self.project.file_named(chart, name).map(|file| Target::new(file, 0..0)));
            }
            Thing::Keyword(block) => {
                if let Some(tree) = self.tree(file) {
                    found.extend(
                        keyword_ranges(tree, *block).into_iter().map(|range| Target::new(file, range)),
                    );
                }
            }
            Thing::Dot(node) => found.extend(self.dot_targets(file, *node)),
            Thing::ChartKey(path) => found.extend(self.chart_key_targets(file, path)),
            _ => {}
        }
        found.sort_by_key(|target| (self.order(target.file), target.start));
        found.dedup();
        found
    }

    /// Files of the chart first, then those of its subcharts; values.yaml before other values.
    fn order(&self, file: FileId) -> (usize, FileKind, FileId) {
        let source = self.project.file(file);
        (source.chart, source.kind, file)
    }

    fn tree(&self, file: FileId) -> Option<&SyntaxTree> {
        self.project.file(file).text.tree.as_ref()
    }

    /// Where keys of values are.
    pub fn key_targets(&self, instance: Instance, path: &[Segment]) -> Vec<Target> {
        let places = self.places(instance, path).into_iter();
        places
            .filter_map(|place| {
                let node = self.project.file(place.file).text.outline.as_ref()?.node(place.node);
                (node.kind != Kind::Document).then(|| Target::new(place.file, node.key_range.clone()))
            })
            .collect()
    }

    fn values_files_of(&self, instance: Instance) -> Vec<Target> {
        let files = crate::values::values_files(&self.project, instance).into_iter();
        files.map(|file| Target::new(file, 0..0)).collect()
    }

    fn chart_key(&self, instance: Instance, field: Option<&str>) -> Option<Target> {
        let chart = self.project.instances[instance as usize].chart;
        let file = self.project.file_named(chart, "Chart.yaml")?;
        let Some(field) = field else { return Some(Target::new(file, 0..0)) };
        let mut key = field.to_owned();
        key[..1].make_ascii_lowercase();
        let key = if field == "APIVersion" { "apiVersion".to_owned() } else { key };
        let outline = self.project.file(file).text.outline.as_ref()?;
        let id = *outline.find(0, &[Some(&key)]).first()?;
        Some(Target::new(file, outline.node(id).key_range.clone()))
    }

    /// The names in the definitions of a template.
    pub fn define_targets(&self, name: &Str) -> Vec<Target> {
        let defines = self.defines.get(name).into_iter().flatten();
        defines
            .filter_map(|(file, node)| {
                let tree = self.tree(*file)?;
                let range = tree.range(tree.template_name(*node)?);
                Some(Target::new(*file, range.start + 1..(range.end - 1).max(range.start + 1)))
            })
            .collect()
    }

    /// Where what the dot is, is set.
    fn dot_targets(&self, file: FileId, node: NodeId) -> Vec<Target> {
        let facts = self.facts(file);
        let shapes = facts.uses.get(&node).map(Types::shapes).unwrap_or_default();
        let values = shapes.iter().filter_map(|shape| match shape {
            Shape::Values(instance, path) if !path.is_empty() => Some((*instance, path.to_vec())),
            _ => None,
        });
        values.flat_map(|(instance, path)| self.key_targets(instance, &path)).collect()
    }

    /// From a dependency in Chart.yaml to its chart, and from a condition to its value.
    fn chart_key_targets(&self, file: FileId, path: &[String]) -> Vec<Target> {
        let Some(outline) = &self.project.file(file).text.outline else { return Vec::new() };
        let mut found = Vec::new();
        for instance in self.project.instances_of(self.project.file(file).chart) {
            for child in &self.project.instances[instance as usize].children {
                let chart = self.project.instances[*child as usize].chart;
                let name = &self.project.charts[chart].name;
                let named = outline.find(0, &[Some("dependencies"), None, Some("name")]);
                let text = &self.project.file(file).text.text;
                let is_named = named
                    .iter()
                    .any(|id| crate::outline::unquoted(&text[outline.node(*id).value.clone()]) == *name);
                if path.first().is_some_and(|key| key == "dependencies") && is_named {
                    found.extend(
                        self.project.file_named(chart, "Chart.yaml").map(|file| Target::new(file, 0..0)),
                    );
                }
            }
        }
        found
    }

    /// All places where a thing is used or defined.
    pub fn references(&self, file: FileId, thing: &Thing, with_definitions: bool) -> Vec<Target> {
        let mut found: Vec<Target> = Vec::new();
        match thing {
            Thing::Value { values, sites, .. } => {
                if with_definitions {
                    found
                        .extend(values.iter().flat_map(|(instance, path)| self.key_targets(*instance, path)));
                    found.extend(sites.iter().map(|(file, start, end)| Target::new(*file, *start..*end)));
                }
                self.value_references(thing, &mut found);
            }
            Thing::Variable(Some(declaration), _) => {
                let facts = self.facts(file);
                let Some(tree) = self.tree(file) else { return found };
                let uses = facts.declarations.iter().filter(|(_, known)| *known == declaration);
                found.extend(uses.map(|(node, _)| Target::new(file, tree.range(*node))));
                if with_definitions {
                    found.push(Target::new(file, tree.range(*declaration)));
                }
            }
            Thing::Variable(None, name) => {
                let Some(tree) = self.tree(file) else { return found };
                let same = tree
                    .nodes()
                    .filter(|node| tree.kind(*node) == NodeKind::Variable && tree.name(*node) == name);
                found.extend(same.map(|node| Target::new(file, tree.range(node))));
            }
            Thing::Template(name) => {
                if with_definitions {
                    found.extend(self.define_targets(name));
                }
                self.template_references(name, &mut found);
            }
            Thing::Field(..) | Thing::ContextField(..) => self.value_references(thing, &mut found),
            Thing::Function(name) => {
                let Some(tree) = self.tree(file) else { return found };
                let same = tree.nodes().filter(|node| {
                    tree.kind(*node) == NodeKind::Function && tree.text_of(*node) == name.as_bytes()
                });
                found.extend(same.map(|node| Target::new(file, tree.range(node))));
            }
            Thing::Keyword(_) => found.extend(self.definitions(file, thing)),
            _ => {}
        }
        found.sort_by_key(|target| (self.order(target.file), target.start));
        found.dedup();
        found
    }

    /// Whether a file has a word at all: searching it is much faster than following what is in it.
    fn mentions(&self, file: FileId, word: &str) -> bool {
        self.project.file(file).text.text.contains(word)
    }

    fn template_references(&self, name: &Str, into: &mut Vec<Target>) {
        for file in self.project.templates() {
            let Some(tree) = self.tree(file) else { continue };
            if !self.mentions(file, &name.to_str_lossy()) {
                continue;
            }
            let facts = self.facts(file);
            for node in facts.names.keys() {
                if tree.string(*node).as_ref() == Some(name) {
                    let range = tree.range(*node);
                    into.push(Target::new(file, range.start + 1..range.end - 1));
                }
            }
        }
    }

    fn value_references(&self, thing: &Thing, into: &mut Vec<Target>) {
        let name = match thing {
            Thing::Value { name, .. } | Thing::Field(_, _, name) | Thing::ContextField(name, _) => name,
            _ => return,
        };
        for file in self.project.templates() {
            let Some(tree) = self.tree(file) else { continue };
            if !self.mentions(file, name) {
                continue;
            }
            let facts = self.facts(file);
            let fields =
                facts.fields.iter().filter(|(node, _)| tree.name(**node) == name).map(|(node, of)| {
                    let range = tree.range(*node);
                    (range.start + 1..range.end, of)
                });
            let keys =
                facts.keys.iter().filter(|(node, _)| tree.string(**node).is_some_and(|text| text == **name));
            let keys = keys.map(|(node, of)| {
                let range = tree.range(*node);
                (range.start + 1..range.end - 1, of)
            });
            for (range, of) in fields.chain(keys) {
                if self.named(of, name).is_some_and(|other| same_thing(thing, &other)) {
                    into.push(Target::new(file, range));
                }
            }
        }
    }
}

/// Whether two names mean the same, or may.
fn same_thing(left: &Thing, right: &Thing) -> bool {
    match (left, right) {
        (Thing::Value { values, sites, .. }, Thing::Value { values: others, sites: other_sites, .. }) => {
            let shared = values.iter().any(|value| others.iter().any(|other| same_value(value, other)));
            shared || sites.intersection(other_sites).next().is_some()
        }
        (Thing::Field(object, _, name), Thing::Field(other, _, other_name)) => {
            object == other && name == other_name
        }
        (Thing::ContextField(name, _), Thing::ContextField(other, _)) => name == other,
        _ => false,
    }
}

/// Whether two paths may lead to the same value.
pub fn same_value(left: &(Instance, Vec<Segment>), right: &(Instance, Vec<Segment>)) -> bool {
    left.0 == right.0
        && left.1.len() == right.1.len()
        && left.1.iter().zip(&right.1).all(|(a, b)| a == b || *a == Segment::Any || *b == Segment::Any)
}

/// The word of a clause, as `if` in `{{- if .a }}`.
pub fn keyword_range(tree: &SyntaxTree, clause: NodeId) -> Option<Range<usize>> {
    let inner = tree.inner_range(clause);
    let text = &tree.text().as_bytes()[inner.clone()];
    let lead = text.len() - text.trim_ascii_start().len();
    let length = text[lead..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    (length > 0).then(|| inner.start + lead..inner.start + lead + length)
}

/// The words of the clauses of a block.
pub fn keyword_ranges(tree: &SyntaxTree, block: NodeId) -> Vec<Range<usize>> {
    let clauses = tree.children(block).filter(|node| tree.kind(*node) != NodeKind::Body);
    clauses.filter_map(|clause| keyword_range(tree, clause)).collect()
}
