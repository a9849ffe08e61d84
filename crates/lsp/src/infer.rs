//! Follows values through a template: the dot, variables, functions, and what other templates are called with.

mod call;

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree};
use pintle_tree::Str;

use crate::project::{FileId, Instance, Project};
use crate::shape::{Object, Segment, Shape, Site, Types};

/// What templates put into contexts and values with `set`: the keys of a map.
pub type Extras = BTreeMap<Shape, BTreeMap<Str, crate::shape::Entry>>;

/// A variable that is visible.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name with `$`.
    pub name: Str,
    /// What it may be.
    pub types: Types,
    /// Where it is declared; `None` for `$`.
    pub declaration: Option<NodeId>,
}

/// What is visible in a place.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// The dot.
    pub dot: Types,
    /// The variables, outermost first.
    pub variables: Vec<Variable>,
}

impl Env {
    /// The variable of a name that is meant.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().rev().find(|variable| variable.name == *name)
    }
}

/// What is known about the parts of a template.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What each field is a field of.
    pub fields: BTreeMap<NodeId, Types>,
    /// Strings that are keys: of what.
    pub keys: BTreeMap<NodeId, Types>,
    /// Strings and other operands that are names of templates.
    pub names: BTreeMap<NodeId, ()>,
    /// What the dot and variables are where they are used.
    pub uses: BTreeMap<NodeId, Types>,
    /// Where the variables that are used are declared.
    pub declarations: BTreeMap<NodeId, NodeId>,
    /// What pipelines return.
    pub results: BTreeMap<NodeId, Types>,
}

/// A call of a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Its name.
    pub name: Str,
    /// What it is called with.
    pub context: Types,
}

/// What a body does with others.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The templates that it calls.
    pub calls: Vec<Call>,
    /// What it puts into maps: the map, the key, the value.
    pub sets: Vec<(Shape, Str, Types, Site)>,
}

/// The charts, and what is known about maps that templates change.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The charts.
    pub project: &'a Project,
    /// What templates put into maps.
    pub extras: &'a Extras,
}

/// Follows values through one body.
pub struct Walker<'a> {
    world: World<'a>,
    tree: &'a SyntaxTree,
    file: FileId,
    env: Env,
    outcome: Outcome,
    facts: Option<Facts>,
    probe: Option<NodeId>,
    captured: Option<Env>,
}

impl World<'_> {
    /// The fields of a name.
    pub fn select(&self, types: &Types, name: &str) -> Types {
        let mut found = Vec::new();
        for shape in types.shapes() {
            self.select_one(shape, name, &mut found);
        }
        Types::collect(found)
    }

    fn select_one(&self, shape: &Shape, name: &str, into: &mut Vec<Shape>) {
        if let Some(entry) = self.extras.get(shape).and_then(|keys| keys.get(name.as_bytes())) {
            into.extend(entry.types.shapes().iter().cloned());
        }
        match shape {
            Shape::Root(instance) => {
                let instance = *instance;
                into.extend(match name {
                    "Values" => Some(Shape::Values(instance, Arc::from([]))),
                    "Release" => Some(Shape::Object(Object::Release, instance)),
                    "Chart" => Some(Shape::Object(Object::Chart, instance)),
                    "Capabilities" => Some(Shape::Object(Object::Capabilities, instance)),
                    "Files" => Some(Shape::Object(Object::Files, instance)),
                    "Template" => Some(Shape::Object(Object::Template, instance)),
                    "Subcharts" => Some(Shape::Object(Object::Subcharts, instance)),
                    _ => None,
                });
            }
            Shape::Object(Object::Capabilities, instance) => into.extend(match name {
                "KubeVersion" => Some(Shape::Object(Object::KubeVersion, *instance)),
                "HelmVersion" => Some(Shape::Object(Object::HelmVersion, *instance)),
                "APIVersions" => Some(Shape::Object(Object::ApiVersions, *instance)),
                _ => None,
            }),
            Shape::Object(Object::Subcharts, instance) => {
                into.extend(self.project.child(*instance, name).map(Shape::Root));
            }
            Shape::Values(instance, path) => {
                into.push(self.values(*instance, path, Segment::Key(name.into())));
            }
            Shape::Dict(dict) => {
                let entry = dict.get(name.as_bytes());
                into.extend(entry.into_iter().flat_map(|entry| entry.types.shapes().iter().cloned()));
            }
            _ => {}
        }
    }

    /// Values below values. Those of a subchart are its own, and globals are the root's.
    pub fn values(&self, instance: Instance, path: &[Segment], next: Segment) -> Shape {
        if path.is_empty()
            && let Segment::Key(key) = &next
        {
            if *key == "global" {
                return Shape::Values(0, Arc::from([next]));
            }
            if let Some(child) = key.as_str().and_then(|key| self.project.child(instance, key)) {
                return Shape::Values(child, Arc::from([]));
            }
        }
        let path: Vec<Segment> = path.iter().cloned().chain([next]).take(32).collect();
        Shape::Values(instance, Arc::from(path))
    }

    /// The items of lists and the values of maps.
    pub fn element(&self, types: &Types) -> Types {
        let mut found = Vec::new();
        for shape in types.shapes() {
            match shape {
                Shape::Values(instance, path) => found.push(self.values(*instance, path, Segment::Any)),
                Shape::List(items) => found.extend(items.shapes().iter().cloned()),
                Shape::Dict(dict) => {
                    found.extend(dict.values().flat_map(|entry| entry.types.shapes().iter().cloned()));
                }
                Shape::Object(Object::Subcharts, instance) => {
                    let children = &self.project.instances[*instance as usize].children;
                    found.extend(children.iter().map(|child| Shape::Root(*child)));
                }
                _ => {}
            }
        }
        Types::collect(found)
    }
}

impl<'a> Walker<'a> {
    /// A walker for the bodies of a file.
    pub fn new(world: World<'a>, file: FileId, tree: &'a SyntaxTree) -> Self {
        Walker {
            world,
            tree,
            file,
            env: Env::default(),
            outcome: Outcome::default(),
            facts: None,
            probe: None,
            captured: None,
        }
    }

    /// Records what is known about all parts.
    pub fn recording(mut self) -> Self {
        self.facts = Some(Facts::default());
        self
    }

    /// Remembers what is visible at a node.
    pub fn probing(mut self, node: NodeId) -> Self {
        self.probe = Some(node);
        self
    }

    /// Follows a body with a context.
    pub fn body(&mut self, body: NodeId, context: &Types) {
        let root = Variable { name: "$".into(), types: context.clone(), declaration: None };
        self.env = Env { dot: context.clone(), variables: vec![root] };
        self.nodes(body);
    }

    /// What the bodies do with others.
    pub fn into_outcome(self) -> Outcome {
        let mut outcome = self.outcome;
        outcome.calls.sort();
        outcome.calls.dedup();
        outcome
    }

    /// What was recorded.
    pub fn into_facts(self) -> Facts {
        self.facts.unwrap_or_default()
    }

    /// What is visible at the node that was asked for; `None` if it was not reached.
    pub fn into_env(self) -> Option<Env> {
        self.captured
    }

    fn visit(&mut self, node: NodeId) {
        if self.probe != Some(node) {
            return;
        }
        match &mut self.captured {
            None => self.captured = Some(self.env.clone()),
            Some(known) => {
                known.dot = known.dot.or(&self.env.dot);
                for variable in &self.env.variables {
                    let same = |other: &&mut Variable| other.declaration == variable.declaration;
                    if let Some(known) = known.variables.iter_mut().find(same) {
                        known.types = known.types.or(&variable.types);
                    }
                }
            }
        }
    }

    fn nodes(&mut self, body: NodeId) {
        self.visit(body);
        let tree = self.tree;
        for node in tree.children(body) {
            self.visit(node);
            match tree.kind(node) {
                NodeKind::Action => drop(self.declaring(node)),
                NodeKind::If | NodeKind::With => self.branch(node, tree.kind(node) == NodeKind::With),
                NodeKind::Range => self.range(node),
                NodeKind::Call => self.template_call(node),
                NodeKind::Block => {
                    if let Some(clause) = tree.child(node, NodeKind::Opening) {
                        self.visit(clause);
                        self.template_call(clause);
                    }
                }
                _ => {}
            }
        }
    }

    fn template_call(&mut self, clause: NodeId) {
        let context = self.declaring(clause);
        let Some(name) = self.tree.child(clause, NodeKind::String) else { return };
        if let Some(facts) = &mut self.facts {
            facts.names.insert(name, ());
        }
        if let Some(name) = self.tree.string(name) {
            self.outcome.calls.push(Call { name, context: context.limited() });
        }
    }

    /// The value of the pipeline of an action or clause, whose variables are declared.
    fn declaring(&mut self, clause: NodeId) -> Types {
        let Some(pipe) = self.tree.child(clause, NodeKind::Pipeline) else { return Types::default() };
        self.pipeline(pipe)
    }

    fn branch(&mut self, block: NodeId, moves: bool) {
        let outer = self.env.variables.len();
        let dot = self.env.dot.clone();
        for (clause, body) in self.tree.clauses(block) {
            self.visit(clause);
            let tested = self.declaring(clause);
            let has_value = self.tree.child(clause, NodeKind::Pipeline).is_some();
            let inner = self.env.variables.len();
            let Some(body) = body else { continue };
            if moves && has_value {
                self.env.dot = tested;
            }
            self.nodes(body);
            self.env.dot = dot.clone();
            self.env.variables.truncate(inner);
        }
        self.env.variables.truncate(outer);
    }

    fn range(&mut self, block: NodeId) {
        let outer = self.env.variables.len();
        let dot = self.env.dot.clone();
        for (clause, body) in self.tree.clauses(block) {
            self.visit(clause);
            let Some(pipe) = self.tree.child(clause, NodeKind::Pipeline) else {
                // The part after `else`, or a range without a value.
                if let Some(body) = body {
                    self.env.dot = dot.clone();
                    let inner = self.env.variables.len();
                    self.nodes(body);
                    self.env.variables.truncate(inner);
                }
                continue;
            };
            let over = self.value(pipe);
            let item = self.world.element(&over);
            self.declare_loop(pipe, &over, &item);
            let inner = self.env.variables.len();
            let Some(body) = body else { continue };
            // What one round assigns, the next one reads.
            for _ in 0..2 {
                let before: Vec<Types> =
                    self.env.variables.iter().map(|variable| variable.types.clone()).collect();
                self.env.dot = item.clone();
                self.nodes(body);
                self.env.variables.truncate(inner);
                if self.env.variables.iter().map(|variable| &variable.types).eq(before.iter()) {
                    break;
                }
            }
            self.env.dot = dot.clone();
        }
        self.env.variables.truncate(outer);
    }

    /// The variables of a range: the item, or the key and the item.
    fn declare_loop(&mut self, pipe: NodeId, over: &Types, item: &Types) {
        let Some((node, names)) = self.declared(pipe) else { return };
        let keys = Types::collect(over.shapes().iter().flat_map(|shape| match shape {
            Shape::Dict(dict) => dict.keys().cloned().map(Shape::Text).collect(),
            _ => Vec::new(),
        }));
        let types = if names.len() == 1 { vec![item.clone()] } else { vec![keys, item.clone()] };
        for (name, types) in names.iter().zip(types) {
            self.set_variable(node, *name, types);
        }
    }

    fn declared(&self, pipe: NodeId) -> Option<(NodeKind, Vec<NodeId>)> {
        let node = self.tree.children(pipe).next()?;
        let kind = self.tree.kind(node);
        matches!(kind, NodeKind::Declaration | NodeKind::Assignment)
            .then(|| (kind, self.tree.children(node).collect()))
    }

    fn set_variable(&mut self, kind: NodeKind, node: NodeId, types: Types) {
        let name: Str = self.tree.name(node).into();
        if kind == NodeKind::Declaration {
            if let Some(facts) = &mut self.facts {
                let known = facts.uses.entry(node).or_default();
                *known = known.or(&types);
            }
            self.env.variables.push(Variable { name, types, declaration: Some(node) });
            return;
        }
        if let Some(variable) = self.env.variables.iter_mut().rev().find(|variable| variable.name == name) {
            // It may also still be what it was before.
            variable.types = variable.types.or(&types).limited();
            let (types, declaration) = (variable.types.clone(), variable.declaration);
            if let (Some(facts), Some(declaration)) = (&mut self.facts, declaration) {
                facts.declarations.insert(node, declaration);
                facts.uses.insert(node, types);
            }
        }
    }

    /// The value of a pipeline, whose variables are declared.
    fn pipeline(&mut self, pipe: NodeId) -> Types {
        let types = self.value(pipe);
        if let Some((kind, names)) = self.declared(pipe) {
            for name in names {
                self.set_variable(kind, name, types.clone());
            }
        }
        types
    }

    /// The value of a pipeline without its declaration.
    fn value(&mut self, pipe: NodeId) -> Types {
        self.visit(pipe);
        let tree = self.tree;
        let mut piped: Option<Types> = None;
        for node in tree.children(pipe) {
            match tree.kind(node) {
                NodeKind::Command => piped = Some(self.command(node, piped.take())),
                // Variables on the left are visited when they are set.
                _ => tree.children(node).for_each(|variable| self.visit(variable)),
            }
        }
        let types = piped.unwrap_or_default().limited();
        if let Some(facts) = &mut self.facts {
            let known = facts.results.entry(pipe).or_default();
            *known = known.or(&types);
        }
        types
    }

    fn operand(&mut self, node: NodeId) -> Types {
        self.visit(node);
        let tree = self.tree;
        let types = match tree.kind(node) {
            NodeKind::Dot => self.env.dot.clone(),
            NodeKind::Variable => self.variable(node),
            NodeKind::String => match tree.string(node) {
                Some(text) => Types::one(Shape::Text(text)),
                None => Types::default(),
            },
            NodeKind::Paren => match tree.child(node, NodeKind::Pipeline) {
                Some(pipe) => self.pipeline(pipe),
                None => Types::default(),
            },
            NodeKind::Function => self.function(node, &[], None),
            NodeKind::Selector => self.selector(node),
            _ => Types::default(),
        };
        if matches!(tree.kind(node), NodeKind::Dot | NodeKind::Variable)
            && let Some(facts) = &mut self.facts
        {
            let known = facts.uses.entry(node).or_default();
            *known = known.or(&types);
        }
        types
    }

    fn variable(&mut self, node: NodeId) -> Types {
        let Some(variable) = self.env.variable(self.tree.name(node)) else { return Types::default() };
        if let (Some(facts), Some(declaration)) = (&mut self.facts, variable.declaration) {
            facts.declarations.insert(node, declaration);
        }
        variable.types.clone()
    }

    fn selector(&mut self, node: NodeId) -> Types {
        let tree = self.tree;
        let mut types = self.env.dot.clone();
        for part in tree.children(node) {
            if tree.kind(part) != NodeKind::Field {
                types = self.operand(part);
                continue;
            }
            self.visit(part);
            if let Some(facts) = &mut self.facts {
                let known = facts.fields.entry(part).or_default();
                *known = known.or(&types);
            }
            types = self.world.select(&types, tree.name(part));
        }
        types
    }
}
