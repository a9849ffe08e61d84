//! Compiles ordinary documents, and only those parts that the values reach.
//!
//! A document is ordinary if it is well-formed, has no embedded identifiers or anchors, and refers only to itself.
//! Compiling it cannot fail, so it can be deferred.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pintle_regex::Regex;
use pintle_tree::Str;

use super::budget::Budget;
use super::compile::{KeywordPath, Resolver, compile};
use super::document::{Doc, escape};
use super::draft::{self, Dialect};
use super::quick::{self, SchemaFacts};
use super::resource::located;
use super::rules::{Schema, SchemaId};
use super::validate::Schemas;

/// An ordinary document.
pub(super) struct Lazy<'d> {
    url: &'d str,
    root: &'d Doc,
    dialect: Dialect,
    regexes: BTreeMap<&'d Str, Rc<Regex>>,
    /// The targets of references.
    references: BTreeMap<&'d Str, &'d Doc>,
    state: RefCell<State<'d>>,
}

#[derive(Default)]
struct State<'d> {
    slots: Vec<Slot<'d>>,
    /// The schemas that references lead to, by the address of their document, so that each stays one schema however
    /// it is reached.
    targets: BTreeMap<usize, Option<SchemaId>>,
}

struct Slot<'d> {
    doc: &'d Doc,
    origin: Origin<'d>,
    schema: Option<Rc<Schema>>,
}

/// How a schema was first reached.
#[derive(Clone)]
enum Origin<'d> {
    Inside(SchemaId, &'static str, Token),
    InstancePath(&'d str),
}

#[derive(Clone)]
enum Token {
    None,
    Key(Str),
    Index(usize),
}

fn address(doc: &Doc) -> usize {
    std::ptr::from_ref(doc).addr()
}

impl<'d> Lazy<'d> {
    /// Creates a lazy compiler if the document is ordinary.
    pub(super) fn new(doc: &'d Doc, url: &'d str, budget: &Budget) -> Option<Self> {
        let named = doc.as_map().and_then(|map| map.get("$schema"));
        let draft = match named {
            None => draft::latest(),
            Some(named) => draft::named(named.as_text()?.as_str()?)?,
        };
        let mut facts = SchemaFacts::default();
        if !quick::inspect(doc, draft.version, 0, &mut facts) || !facts.is_ordinary {
            return None;
        }
        let mut regexes = BTreeMap::new();
        for pattern in facts.patterns {
            if !regexes.contains_key(pattern) {
                let regex = Regex::compile(pattern.as_bytes()).ok()?;
                // The eager compiler reports that it is too much.
                if !budget.spend_pattern(regex.compile_cost()) {
                    return None;
                }
                regexes.insert(pattern, Rc::new(regex));
            }
        }
        let mut references = BTreeMap::new();
        let mut targets = BTreeMap::new();
        for reference in facts.references {
            let target = draft.subschema_at(doc, reference.as_str()?.strip_prefix('#')?)?;
            references.insert(reference, target);
            targets.insert(address(target), None);
        }
        if let Some(root) = targets.get_mut(&address(doc)) {
            *root = Some(0);
        }
        let slots = vec![Slot { doc, origin: Origin::InstancePath(""), schema: None }];
        let state = RefCell::new(State { slots, targets });
        Some(Lazy { url, root: doc, dialect: Dialect::new(draft), regexes, references, state })
    }

    /// The schema at a JSON pointer.
    pub(super) fn entry(&self, pointer: &str) -> Option<SchemaId> {
        let doc = self.dialect.draft.subschema_at(self.root, pointer)?;
        Some(self.enqueue(doc, || Origin::InstancePath("")))
    }

    fn compile(&self, id: SchemaId, doc: &'d Doc) -> Schema {
        let mut schema = Schema { draft: self.dialect.draft.version, ..Schema::default() };
        match doc {
            Doc::Bool(value) => schema.boolean = Some(*value),
            Doc::Map(map) if map.is_empty() => schema.boolean = Some(true),
            Doc::Map(map) => {
                let mut context = CompileContext { lazy: self, id };
                compile(map, &self.dialect, false, &mut context, &mut schema)
                    .expect("patterns and references were checked before");
            }
            _ => {}
        }
        schema
    }

    /// The schema of a document, which is new unless it is a reference target.
    fn enqueue(&self, doc: &'d Doc, origin: impl FnOnce() -> Origin<'d>) -> SchemaId {
        let State { slots, targets } = &mut *self.state.borrow_mut();
        let id = slots.len();
        // Most documents have no references; then every subschema is reached by one path only.
        if !targets.is_empty()
            && let Some(target) = targets.get_mut(&address(doc))
        {
            if let Some(id) = *target {
                return id;
            }
            *target = Some(id);
        }
        slots.push(Slot { doc, origin: origin(), schema: None });
        id
    }

    fn pointer(&self, id: SchemaId) -> String {
        let origin = self.state.borrow().slots[id].origin.clone();
        match origin {
            Origin::InstancePath(pointer) => pointer.to_owned(),
            Origin::Inside(outer, keyword, token) => {
                let outer = self.pointer(outer);
                match token {
                    Token::None => format!("{outer}/{keyword}"),
                    Token::Key(key) => format!("{outer}/{keyword}/{}", escape(&key.to_str_lossy())),
                    Token::Index(index) => format!("{outer}/{keyword}/{index}"),
                }
            }
        }
    }
}

impl Schemas for Lazy<'_> {
    fn schema(&self, id: SchemaId) -> Rc<Schema> {
        // Compiling adds slots, so the borrow must end first.
        let (doc, known) = {
            let slot = &self.state.borrow().slots[id];
            (slot.doc, slot.schema.clone())
        };
        if let Some(schema) = known {
            return schema;
        }
        let schema = Rc::new(self.compile(id, doc));
        self.state.borrow_mut().slots[id].schema = Some(schema.clone());
        schema
    }

    fn location(&self, id: SchemaId) -> String {
        located(self.url, &self.pointer(id))
    }
}

/// Which schema is being compiled.
struct CompileContext<'l, 'd> {
    lazy: &'l Lazy<'d>,
    id: SchemaId,
}

impl<'d> Resolver<'d> for CompileContext<'_, 'd> {
    fn inside(&mut self, keyword: &'static str, step: KeywordPath<'_>, doc: &'d Doc) -> SchemaId {
        self.lazy.enqueue(doc, || {
            let token = match step {
                KeywordPath::None => Token::None,
                KeywordPath::Key(key) => Token::Key(key.clone()),
                KeywordPath::Index(index) => Token::Index(index),
            };
            Origin::Inside(self.id, keyword, token)
        })
    }

    fn reference(&mut self, reference: &Str) -> Result<SchemaId, String> {
        let Some((text, doc)) = self.lazy.references.get_key_value(reference) else {
            return Err(format!("reference {reference} was not looked at"));
        };
        Ok(self.lazy.enqueue(doc, || {
            Origin::InstancePath(text.as_str().and_then(|text| text.strip_prefix('#')).unwrap_or(""))
        }))
    }

    fn regex(&mut self, pattern: &Str, _keyword: &'static str) -> Result<Rc<Regex>, String> {
        self.lazy.regexes.get(pattern).cloned().ok_or_else(|| format!("pattern {pattern} was not looked at"))
    }
}
