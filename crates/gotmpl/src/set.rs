//! Named templates that can call each other, and the memory of what has been parsed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pintle_tree::{Map, Str};

use crate::ast::Tree;
use crate::error::Error;
use crate::function::{Functions, MapMethods};
use crate::parse;

/// How many parsed texts are remembered at once.
const MAX_CACHED: usize = 4_096;

/// The templates of one source; the source itself is the last.
pub(crate) type Parsed = Rc<[Rc<Tree>]>;

/// Parsed texts by name and source, so that a text that is evaluated in a loop is parsed once.
#[derive(Default)]
pub(crate) struct ParseCache {
    parsed: RefCell<HashMap<(Str, Str), Parsed>>,
}

impl ParseCache {
    fn parse(&self, name: &Str, source: &Str, functions: &Rc<Functions>) -> Result<Parsed, Error> {
        let key = (name.clone(), source.clone());
        if let Some(parsed) = self.parsed.borrow().get(&key) {
            return Ok(Rc::clone(parsed));
        }
        let parsed: Parsed = parse::parse(name, source, functions)?.into();
        let mut cache = self.parsed.borrow_mut();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, Rc::clone(&parsed));
        Ok(parsed)
    }
}

/// Named templates that share one table of functions.
#[derive(Clone)]
pub struct Set {
    root: Str,
    functions: Rc<Functions>,
    values_methods: Option<MapMethods>,
    templates: Map<Rc<Tree>>,
    parent: Option<Rc<Set>>,
    cache: Rc<ParseCache>,
}

impl Set {
    /// Returns an empty set whose templates may call these functions and Go's builtins.
    pub fn new(functions: Rc<Functions>) -> Self {
        Set {
            root: "gotpl".into(),
            functions,
            values_methods: None,
            templates: Map::new(),
            parent: None,
            cache: Rc::default(),
        }
    }

    /// The set with the methods that chart values have.
    #[must_use]
    pub fn with_values_methods(mut self, methods: MapMethods) -> Self {
        self.values_methods = Some(methods);
        self
    }

    /// A set that sees all templates of this one, and whose own definitions stay its own.
    #[must_use]
    pub fn overlay(self: &Rc<Self>) -> Set {
        Set {
            root: self.root.clone(),
            functions: Rc::clone(&self.functions),
            values_methods: self.values_methods,
            templates: Map::new(),
            parent: Some(Rc::clone(self)),
            cache: Rc::clone(&self.cache),
        }
    }

    /// Parses a source under a name, and adds it and what it defines.
    ///
    /// A definition replaces an earlier one of the same name, unless it is blank.
    ///
    /// # Errors
    /// When the source is no template, calls an unknown function or defines a name twice.
    pub fn parse(&mut self, name: impl Into<Str>, source: impl Into<Str>) -> Result<(), Error> {
        for tree in parse::parse(&name.into(), &source.into(), &self.functions)? {
            if !tree.is_empty() || !self.contains(&tree.name) {
                self.templates.insert(tree.name.clone(), tree);
            }
        }
        Ok(())
    }

    /// Whether there is a template of this name.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.find(name.as_ref()).is_some()
    }

    /// The names of the templates of this set itself, in order.
    pub fn names(&self) -> impl Iterator<Item = &Str> {
        self.templates.keys()
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
        let mut set = Set::new(Rc::default());
        set.parse("a", r#"{{define "x"}}one{{end}}"#).unwrap();
        set.parse("b", r#"{{define "x"}}  {{end}}"#).unwrap();
        assert!(!set.find(b"x").unwrap().is_empty());
        set.parse("c", r#"{{define "x"}}two{{end}}"#).unwrap();
        assert_eq!(set.find(b"x").unwrap().source.name, "c");
    }

    #[test]
    fn an_overlay_keeps_its_definitions() {
        let mut base = Set::new(Rc::default());
        base.parse("a", "text").unwrap();
        let base = Rc::new(base);
        let mut overlay = base.overlay();
        overlay.parse("b", "text").unwrap();
        assert!(overlay.contains("a") && overlay.contains("b") && !base.contains("b"));
    }

    #[test]
    fn a_name_defined_twice_in_one_source_is_an_error() {
        let error = Set::new(Rc::default()).parse("a", "{{define \"x\"}}1{{end}}\n{{define \"x\"}}2{{end}}");
        let text = error.unwrap_err().to_string();
        assert_eq!(text, "template: a:2: template: multiple definition of template \"x\"");
    }
}
