//! What is known about a project: which contexts definitions are called with, and what the parts of its templates are.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_gotmpl::syntax::{NodeId, NodeKind};
use pintle_tree::Str;

use crate::infer::{Env, Extras, Facts, Outcome, Walker, World};
use crate::project::{FileId, Project};
use crate::shape::{Shape, Types};

/// A definition: its file and its node.
pub type Define = (FileId, NodeId);

/// A body: the number of its text, its node, and the number for what templates put into maps.
type BodyKey = (u64, NodeId, u64);

/// What is kept between the analyses of a project, because most files do not change.
#[derive(Default)]
pub struct Memory {
    structure: u64,
    outcomes: BTreeMap<BodyKey, Vec<(Types, Arc<Outcome>)>>,
    defines: BTreeMap<u64, Arc<Vec<(Str, NodeId)>>>,
    facts: BTreeMap<FileId, (u64, Vec<Types>, u64, Arc<Facts>)>,
}

/// The maximum number of bodies whose outcome is kept.
const MAX_OUTCOMES: usize = 60_000;
/// The maximum number of contexts for which the outcome of a body is kept.
const MAX_CONTEXTS: usize = 12;
/// The maximum number of rounds until contexts stay the same.
const MAX_ROUNDS: usize = 40;

/// What is known about a project.
pub struct Analysis {
    /// The project.
    pub project: Arc<Project>,
    /// The definitions by name.
    pub defines: BTreeMap<Str, Vec<Define>>,
    /// What definitions are called with.
    pub contexts: BTreeMap<Str, Types>,
    /// What templates put into maps.
    pub extras: Extras,
    number: u64,
    memory: RefCell<Memory>,
}

impl Analysis {
    /// Analyses a project.
    pub fn new(project: Arc<Project>, mut memory: Memory) -> Self {
        if memory.structure != project.structure {
            memory = Memory { structure: project.structure, ..Memory::default() };
        }
        if memory.outcomes.len() > MAX_OUTCOMES {
            memory.outcomes.clear();
        }
        let mut analysis = Analysis {
            project,
            defines: BTreeMap::new(),
            contexts: BTreeMap::new(),
            extras: Extras::new(),
            number: 0,
            memory: RefCell::new(memory),
        };
        analysis.find_defines();
        let sets = analysis.propagate();
        if !sets.is_empty() {
            analysis.extras = sets;
            analysis.number = 1 + fingerprint(&analysis.extras);
            analysis.propagate();
        }
        analysis
    }

    /// What may be kept for the next analysis.
    pub fn into_memory(self) -> Memory {
        self.memory.into_inner()
    }

    fn world(&self) -> World<'_> {
        World { project: &self.project, extras: &self.extras }
    }

    fn find_defines(&mut self) {
        let project = Arc::clone(&self.project);
        let mut defines: BTreeMap<Str, Vec<Define>> = BTreeMap::new();
        for file in project.templates() {
            for (name, node) in self.defines_of(file).iter() {
                defines.entry(name.clone()).or_default().push((file, *node));
            }
        }
        self.defines = defines;
    }

    /// The definitions of a file.
    pub fn defines_of(&self, file: FileId) -> Arc<Vec<(Str, NodeId)>> {
        let text = &self.project.file(file).text;
        if let Some(known) = self.memory.borrow().defines.get(&text.number) {
            return Arc::clone(known);
        }
        let Some(tree) = text.tree.as_ref().filter(|_| !text.too_large) else { return Arc::default() };
        let named = |node: NodeId| {
            let name = tree.string(tree.template_name(node)?)?;
            Some((name, node))
        };
        let blocks =
            tree.nodes().filter(|node| matches!(tree.kind(*node), NodeKind::Define | NodeKind::Block));
        let found: Arc<Vec<(Str, NodeId)>> = Arc::new(blocks.filter_map(named).collect());
        self.memory.borrow_mut().defines.insert(text.number, Arc::clone(&found));
        found
    }

    /// The context of the templates of a file.
    fn root_context(&self, file: FileId) -> Types {
        Types::collect(self.project.instances_of(self.project.file(file).chart).map(Shape::Root))
    }

    /// What a definition in a file is called with; if nothing is known, the context of its chart.
    pub fn context_of(&self, file: FileId, name: &Str) -> Types {
        match self.contexts.get(name).filter(|types| !types.is_unknown()) {
            Some(types) => types.clone(),
            None => self.root_context(file),
        }
    }

    fn outcome(&self, file: FileId, body: NodeId, context: &Types) -> Arc<Outcome> {
        let text = &self.project.file(file).text;
        let key = (text.number, body, self.number);
        let known = |memory: &Memory| {
            let known = memory.outcomes.get(&key)?.iter().find(|(known, _)| known == context)?;
            Some(Arc::clone(&known.1))
        };
        if let Some(outcome) = known(&self.memory.borrow()) {
            return outcome;
        }
        let Some(tree) = text.tree.as_ref().filter(|_| !text.too_large) else { return Arc::default() };
        let mut walker = Walker::new(self.world(), file, tree);
        walker.body(body, context);
        let outcome = Arc::new(walker.into_outcome());
        let mut memory = self.memory.borrow_mut();
        let entries = memory.outcomes.entry(key).or_default();
        if entries.len() >= MAX_CONTEXTS {
            entries.clear();
        }
        entries.push((context.clone(), Arc::clone(&outcome)));
        outcome
    }

    /// Follows the calls of all templates until the contexts of definitions stay the same.
    fn propagate(&mut self) -> Extras {
        let project = Arc::clone(&self.project);
        let mut sets = Extras::new();
        let mut contexts: BTreeMap<Str, Types> = BTreeMap::new();
        let mut changed: BTreeMap<Str, ()> = BTreeMap::new();
        let mut round: Vec<Arc<Outcome>> = Vec::new();
        for file in project.templates() {
            let body = NodeId::ROOT;
            round.push(self.outcome(file, body, &self.root_context(file)));
        }
        for _ in 0..MAX_ROUNDS {
            let mut joined: BTreeMap<Str, Vec<Types>> = BTreeMap::new();
            for outcome in &round {
                for call in &outcome.calls {
                    joined.entry(call.name.clone()).or_default().push(call.context.clone());
                }
                for (shape, key, types, site) in &outcome.sets {
                    let entry = sets.entry(shape.clone()).or_default().entry(key.clone()).or_default();
                    entry.types = entry.types.or(types);
                    entry.sites.insert(*site);
                }
            }
            for (name, mut calls) in joined {
                let known = contexts.get(&name).cloned();
                calls.sort();
                calls.dedup();
                let all = calls.iter().flat_map(|types| types.shapes()).cloned();
                let all = Types::collect(all.chain(known.iter().flat_map(|types| types.shapes().to_vec())));
                if known.as_ref() != Some(&all) {
                    contexts.insert(name.clone(), all);
                    changed.insert(name, ());
                }
            }
            round.clear();
            for (name, ()) in std::mem::take(&mut changed) {
                let context = contexts.get(&name).cloned().unwrap_or_default();
                for (file, node) in self.defines.get(&name).into_iter().flatten() {
                    round.extend(self.body_of(*file, *node).map(|body| self.outcome(*file, body, &context)));
                }
            }
            if round.is_empty() {
                break;
            }
        }
        self.contexts = contexts;
        sets
    }

    /// The body of a definition.
    pub fn body_of(&self, file: FileId, define: NodeId) -> Option<NodeId> {
        self.project.file(file).text.tree.as_ref()?.child(define, NodeKind::Body)
    }

    /// What is known about the parts of a template.
    pub fn facts(&self, file: FileId) -> Arc<Facts> {
        let text = &self.project.file(file).text;
        let defines = self.defines_of(file);
        let contexts: Vec<Types> = defines.iter().map(|(name, _)| self.context_of(file, name)).collect();
        if let Some((number, known, extras, facts)) = self.memory.borrow().facts.get(&file)
            && (*number, *extras) == (text.number, self.number)
            && *known == contexts
        {
            return Arc::clone(facts);
        }
        let Some(tree) = text.tree.as_ref().filter(|_| !text.too_large) else { return Arc::default() };
        let mut walker = Walker::new(self.world(), file, tree).recording();
        walker.body(NodeId::ROOT, &self.root_context(file));
        for ((_, node), context) in defines.iter().zip(&contexts) {
            if let Some(body) = self.body_of(file, *node) {
                walker.body(body, context);
            }
        }
        let facts = Arc::new(walker.into_facts());
        let entry = (text.number, contexts, self.number, Arc::clone(&facts));
        self.memory.borrow_mut().facts.insert(file, entry);
        facts
    }

    /// What is visible at a node, or at the nearest one around it that is followed.
    pub fn env_at(&self, file: FileId, node: NodeId) -> Env {
        let text = &self.project.file(file).text;
        let Some(tree) = text.tree.as_ref().filter(|_| !text.too_large) else { return Env::default() };
        let around =
            tree.ancestors(node).find(|node| matches!(tree.kind(*node), NodeKind::Define | NodeKind::Block));
        for probe in tree.ancestors(node) {
            let mut walker = Walker::new(self.world(), file, tree).probing(probe);
            let define = around.filter(|define| {
                // The clause of a block belongs to what is around it.
                tree.child(*define, NodeKind::Body)
                    .is_some_and(|body| tree.ancestors(probe).any(|node| node == body))
            });
            match define {
                Some(define) => {
                    let name =
                        tree.template_name(define).and_then(|name| tree.string(name)).unwrap_or_default();
                    if let Some(body) = tree.child(define, NodeKind::Body) {
                        walker.body(body, &self.context_of(file, &name));
                    }
                }
                None => walker.body(NodeId::ROOT, &self.root_context(file)),
            }
            if let Some(env) = walker.into_env() {
                return env;
            }
        }
        Env::default()
    }

    /// The fields of a name of what may be several things.
    pub fn select(&self, types: &Types, name: &str) -> Types {
        self.world().select(types, name)
    }

    /// What an operand or a pipeline may be, with what is visible around it.
    pub fn types_of(&self, file: FileId, node: NodeId) -> Types {
        let text = &self.project.file(file).text;
        let Some(tree) = text.tree.as_ref() else { return Types::default() };
        let facts = self.facts(file);
        match tree.kind(node) {
            NodeKind::Field => {
                facts.fields.get(&node).map(|of| self.select(of, tree.name(node))).unwrap_or_default()
            }
            NodeKind::Selector => {
                tree.last_child(node).map(|last| self.types_of(file, last)).unwrap_or_default()
            }
            NodeKind::Dot | NodeKind::Variable => facts.uses.get(&node).cloned().unwrap_or_default(),
            NodeKind::Paren => tree
                .child(node, NodeKind::Pipeline)
                .and_then(|pipe| facts.results.get(&pipe).cloned())
                .unwrap_or_default(),
            NodeKind::Pipeline => facts.results.get(&node).cloned().unwrap_or_default(),
            _ => Types::default(),
        }
    }
}

/// A number for what templates put into maps.
fn fingerprint(extras: &Extras) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    format!("{extras:?}").hash(&mut hasher);
    hasher.finish() >> 1
}
