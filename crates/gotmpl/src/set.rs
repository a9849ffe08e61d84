//! Sets of named templates, and a cache of parsed sources.
#![expect(clippy::disallowed_types, reason = "looked up on a hot path, never iterated")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use pintle_tree::{Map, Str};

use crate::ast::Tree;
use crate::error::Error;
use crate::function::{Functions, MapMethods};
use crate::parse::{self, ParsedSource};

/// The maximum number of cached sources. A chart that evaluates generated strings would otherwise keep them all.
const MAX_CACHED: usize = 4_096;

/// The templates of one source; the source itself is last.
pub(crate) type Parsed = Rc<[Rc<Tree>]>;

/// Parsed sources by name and text, so that a string evaluated in a loop is parsed once.
#[derive(Default)]
pub(crate) struct ParseCache {
    parsed: RefCell<HashMap<(Str, Str), Parsed>>,
}

impl ParseCache {
    fn parse(&self, name: &Str, source: &Str, functions: &Arc<Functions>) -> Result<Parsed, Error> {
        let key = (name.clone(), source.clone());
        if let Some(parsed) = self.parsed.borrow().get(&key) {
            return Ok(Rc::clone(parsed));
        }
        let parsed: Parsed = parse::parse(name, source, functions)?.into_trees().collect();
        let mut cache = self.parsed.borrow_mut();
        // Clearing all of it needs no bookkeeping on each hit.
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, Rc::clone(&parsed));
        Ok(parsed)
    }
}

/// Sources parsed once for many sets. A source is identified by its name and the address of its text, which the cache
/// keeps alive; texts are not compared.
pub struct SourceCache {
    functions: Arc<Functions>,
    parsed: RefCell<HashMap<(Str, usize), (Str, Parsed)>>,
}

impl SourceCache {
    /// Returns an empty cache of templates that may call these functions and Go's built-ins.
    pub fn new(functions: impl Into<Arc<Functions>>) -> Self {
        SourceCache { functions: functions.into(), parsed: RefCell::default() }
    }

    /// Returns an empty set that can add sources of this cache.
    pub fn set(&self) -> Set {
        Set::new(Arc::clone(&self.functions))
    }

    fn parse(&self, name: &Str, source: &Str) -> Result<Parsed, Error> {
        // Files of a chart are slices of one loaded archive, so an address identifies a text without reading
        // it again.
        let key = (name.clone(), source.as_bytes().as_ptr().addr());
        if let Some((_, parsed)) =
            self.parsed.borrow().get(&key).filter(|(text, _)| text.len() == source.len())
        {
            return Ok(Rc::clone(parsed));
        }
        let parsed: Parsed = parse::parse(name, source, &self.functions)?.into_trees().collect();
        self.parsed.borrow_mut().insert(key, (source.clone(), Rc::clone(&parsed)));
        Ok(parsed)
    }
}

/// From this size on, in bytes, parsing on two threads is faster. Below, starting a thread takes longer than it saves.
const PARALLEL_THRESHOLD: usize = 200_000;

/// The number of sources that make up half of the text, or all if they are small.
fn halfway(sources: &[(Str, Str)]) -> usize {
    let whole: usize = sources.iter().map(|(_, source)| source.len()).sum();
    if whole < PARALLEL_THRESHOLD {
        return sources.len();
    }
    let mut before = 0;
    let reaches = |(_, source): &(Str, Str)| {
        before += source.len();
        before >= whole / 2
    };
    sources.iter().position(reaches).map_or(sources.len(), |index| index + 1)
}

/// Named templates that share one function table.
#[derive(Clone)]
pub struct Set {
    root: Str,
    functions: Arc<Functions>,
    values_methods: Option<MapMethods>,
    templates: Map<Rc<Tree>>,
    parent: Option<Rc<Set>>,
    cache: Rc<ParseCache>,
}

impl Set {
    /// Returns an empty set whose templates may call these functions and Go's built-ins.
    pub fn new(functions: impl Into<Arc<Functions>>) -> Self {
        Set {
            // Helm's name for the root template; it appears in messages about missing templates.
            root: "gotpl".into(),
            functions: functions.into(),
            values_methods: None,
            templates: Map::new(),
            parent: None,
            cache: Rc::default(),
        }
    }

    /// Adds the methods of chart values.
    #[must_use]
    pub fn with_values_methods(mut self, methods: MapMethods) -> Self {
        self.values_methods = Some(methods);
        self
    }

    /// A set that sees all templates of this one, and keeps its own definitions to itself.
    #[must_use]
    pub fn overlay(self: &Rc<Self>) -> Set {
        Set {
            root: self.root.clone(),
            functions: Arc::clone(&self.functions),
            values_methods: self.values_methods,
            templates: Map::new(),
            parent: Some(Rc::clone(self)),
            cache: Rc::clone(&self.cache),
        }
    }

    /// Parses a source under a name, and adds it and its definitions.
    ///
    /// A definition replaces an earlier one of the same name, unless it is blank.
    ///
    /// # Errors
    /// When the source does not parse, calls an unknown function or defines a name twice.
    pub fn parse(&mut self, name: impl Into<Str>, source: impl Into<Str>) -> Result<(), Error> {
        let parsed = parse::parse(&name.into(), &source.into(), &self.functions)?;
        self.add(parsed);
        Ok(())
    }

    /// Parses many sources as [`Set::parse`] does in sequence, on two threads if they are large.
    ///
    /// # Errors
    /// The first source that does not parse, by index; those before it have been added.
    pub fn parse_all(&mut self, sources: &[(Str, Str)]) -> Result<(), (usize, Error)> {
        let functions = &Arc::clone(&self.functions);
        let all = |sources: &[(Str, Str)]| -> Vec<_> {
            sources.iter().map(|(name, source)| parse::parse(name, source, functions)).collect()
        };
        let (first, second) = sources.split_at(halfway(sources));
        let parsed = if second.is_empty() {
            vec![all(first)]
        } else {
            thread::scope(|scope| {
                // If the thread cannot be started or panics, this thread does its half.
                let helper = thread::Builder::new().spawn_scoped(scope, || all(second));
                let first = all(first);
                let second = helper.ok().and_then(|helper| helper.join().ok()).unwrap_or_else(|| all(second));
                vec![first, second]
            })
        };
        // Added in order, so that later definitions replace earlier ones and the first error is that of one
        // thread.
        for (index, parsed) in parsed.into_iter().flatten().enumerate() {
            self.add(parsed.map_err(|error| (index, error))?);
        }
        Ok(())
    }

    /// Adds a source and its definitions as [`Set::parse`] does, parsed once for all sets of the cache.
    ///
    /// # Errors
    /// As [`Set::parse`].
    pub fn add_cached(&mut self, name: &Str, source: &Str, cache: &SourceCache) -> Result<(), Error> {
        let parsed = cache.parse(name, source)?;
        self.add_trees(parsed.iter().cloned());
        Ok(())
    }

    fn add(&mut self, parsed: ParsedSource) {
        self.add_trees(parsed.into_trees());
    }

    fn add_trees(&mut self, trees: impl Iterator<Item = Rc<Tree>>) {
        for tree in trees {
            // Go's `AddParseTree` keeps an earlier definition if the new one is blank.
            if !tree.is_empty() || !self.contains(&tree.name) {
                self.templates.insert(tree.name.clone(), tree);
            }
        }
    }

    /// Whether there is a template of this name.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.find(name.as_ref()).is_some()
    }

    /// The names of the templates of this set itself, in order.
    pub fn names(&self) -> impl Iterator<Item = &Str> {
        self.templates.keys()
    }

    /// All templates of this set itself.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &Tree> {
        self.templates.values().map(Rc::as_ref)
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&Rc<Tree>> {
        let mut set = Some(self);
        while let Some(current) = set {
            if let Some(tree) = current.templates.get(name) {
                return Some(tree);
            }
            set = current.parent.as_deref();
        }
        None
    }

    pub(crate) fn parse_cached(&self, name: &Str, source: &Str) -> Result<Parsed, Error> {
        self.cache.parse(name, source, &self.functions)
    }

    pub(crate) fn root(&self) -> &Str {
        &self.root
    }

    pub(crate) fn values_methods(&self) -> Option<MapMethods> {
        self.values_methods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_definition_replaces_nothing() {
        let mut set = Set::new(Functions::default());
        set.parse("a", r#"{{define "x"}}one{{end}}"#).unwrap();
        set.parse("b", r#"{{define "x"}}  {{end}}"#).unwrap();
        assert!(!set.find(b"x").unwrap().is_empty());
        set.parse("c", r#"{{define "x"}}two{{end}}"#).unwrap();
        assert_eq!(set.find(b"x").unwrap().source.name, "c");
    }

    #[test]
    fn large_sources_give_the_same_set_and_the_same_error_on_two_threads() {
        let source = |index: usize| {
            let text =
                format!("{{{{define \"all\"}}}}{index}{{{{end}}}}{}", "x".repeat(PARALLEL_THRESHOLD / 5));
            (Str::from(format!("t{index}")), Str::from(text))
        };
        let mut sources: Vec<(Str, Str)> = (0..10).map(source).collect();
        let mut set = Set::new(Functions::default());
        set.parse_all(&sources).expect("good templates");
        assert_eq!(set.find(b"all").unwrap().source.name, "t9");
        sources[8].1 = "{{bad".into();
        sources[6].1 = "{{worse".into();
        let (index, error) = Set::new(Functions::default()).parse_all(&sources).unwrap_err();
        assert_eq!(
            (index, error.to_string().as_str()),
            (6, "template: t6:1: function \"worse\" not defined")
        );
    }

    #[test]
    fn an_overlay_keeps_its_definitions() {
        let mut base = Set::new(Functions::default());
        base.parse("a", "text").unwrap();
        let base = Rc::new(base);
        let mut overlay = base.overlay();
        overlay.parse("b", "text").unwrap();
        assert!(overlay.contains("a") && overlay.contains("b") && !base.contains("b"));
    }

    #[test]
    fn a_name_defined_twice_in_one_source_is_an_error() {
        let error =
            Set::new(Functions::default()).parse("a", "{{define \"x\"}}1{{end}}\n{{define \"x\"}}2{{end}}");
        let text = error.unwrap_err().to_string();
        assert_eq!(text, "template: a:2: template: multiple definition of template \"x\"");
    }
}
