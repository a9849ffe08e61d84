//! Compiles documents that the lazy compiler cannot handle: with identifiers, anchors, external references, or
//! errors.

use std::collections::BTreeMap;
use std::rc::Rc;

use pintle_regex::{Error as RegexError, Regex};
use pintle_tree::{LogLine, Str, quote};

use super::budget::Budget;
use super::compile::{KeywordPath, Resolver, compile};
use super::document::{Doc, escape};
use super::resource::{Documents, at, located};
use super::rules::{References, Schema, SchemaId};
use super::validate::Schemas;
use crate::ReadSource;

/// The maximum number of schemas reachable from a chart. Helm has no such limit.
const MAX_SCHEMAS: usize = 200_000;

/// Compiled schemas. Validation starts with the first.
pub(super) struct Compiled {
    schemas: Vec<Rc<Schema>>,
    /// The locations of the schemas: a document, and a pointer into it.
    locations: Vec<(usize, String)>,
    /// The URLs of the documents.
    urls: Vec<String>,
}

impl Schemas for Compiled {
    fn schema(&self, id: SchemaId) -> Rc<Schema> {
        self.schemas[id].clone()
    }

    fn location(&self, id: SchemaId) -> String {
        let (root, pointer) = &self.locations[id];
        located(&self.urls[*root], pointer)
    }
}

pub(super) struct Compiler<'r, 'l> {
    budget: &'r Budget,
    documents: Documents<'r, 'l>,
    asserts_formats: bool,
    locations: Vec<(usize, String)>,
    by_location: BTreeMap<(usize, String), SchemaId>,
}

impl<'r, 'l> Compiler<'r, 'l> {
    pub(super) fn new(read: &'r mut ReadSource<'l>, log: &'r mut Vec<LogLine>, budget: &'r Budget) -> Self {
        let documents = Documents::new(read, log);
        Compiler {
            budget,
            documents,
            asserts_formats: false,
            locations: Vec::new(),
            by_location: BTreeMap::new(),
        }
    }

    /// Asserts formats in every draft, as metaschemas need it.
    pub(super) fn asserting_formats(mut self) -> Self {
        self.asserts_formats = true;
        self
    }

    /// Adds a document under a URL.
    pub(super) fn with(mut self, url: &str, doc: Doc) -> Self {
        self.documents.add(url, doc);
        self
    }

    /// Compiles the document at `url` and everything it refers to.
    pub(super) fn compile(mut self, url: &str) -> Result<Compiled, String> {
        let root = self.documents.root(url)?;
        self.enqueue(root, String::new());
        let mut schemas = Vec::new();
        // A queue instead of recursion: schemas refer to each other in circles.
        while schemas.len() < self.locations.len() {
            if schemas.len() > MAX_SCHEMAS {
                return Err(format!("more than {MAX_SCHEMAS} schemas"));
            }
            let (root, pointer) = self.locations[schemas.len()].clone();
            schemas.push(Rc::new(self.compile_one(root, &pointer)?));
        }
        let urls = self.documents.roots.iter().map(|root| root.url.clone()).collect();
        Ok(Compiled { schemas, locations: self.locations, urls })
    }

    /// The schema at a location, queued for compilation if it is new.
    fn enqueue(&mut self, root: usize, pointer: String) -> SchemaId {
        let id = self.locations.len();
        let location = (root, pointer);
        if let Some(&id) = self.by_location.get(&location) {
            return id;
        }
        self.by_location.insert(location.clone(), id);
        self.locations.push(location);
        id
    }

    fn compile_one(&mut self, root: usize, pointer: &str) -> Result<Schema, String> {
        self.documents.ensure(root, pointer)?;
        let document = &self.documents.roots[root];
        let doc = document.doc.clone();
        let doc = at(&document.url, &doc, pointer)?;
        let resource = document.resource(pointer);
        let (base, dialect) = (resource.url.clone(), resource.dialect.clone());
        let resource_pointer = resource.pointer.clone();
        // A dynamic reference is resolved in the outermost resource that has the anchor, so each resource
        // needs the list of its own.
        let anchors: Vec<(String, String)> = if dialect.draft.version >= 2020 && resource_pointer == pointer {
            let of = |name: &String| resource.anchors.get(name).map(|at| (name.clone(), at.clone()));
            resource.dynamic_anchors.iter().filter_map(of).collect()
        } else {
            Vec::new()
        };
        let mut schema = Schema {
            draft: dialect.draft.version,
            resource: self.enqueue(root, resource_pointer),
            ..Schema::default()
        };
        if !anchors.is_empty() {
            let anchors = anchors.into_iter().map(|(name, at)| (name, self.enqueue(root, at))).collect();
            schema.references =
                Some(Box::new(References { dynamic_anchors: anchors, ..References::default() }));
        }
        match doc {
            Doc::Bool(value) => schema.boolean = Some(*value),
            // `{}` accepts everything, like `true`.
            Doc::Map(map) if map.is_empty() => schema.boolean = Some(true),
            Doc::Map(map) => {
                let asserts_formats = self.asserts_formats;
                let mut location = Location { compiler: self, root, pointer, base: &base };
                compile(map, &dialect, asserts_formats, &mut location, &mut schema)?;
            }
            _ => {}
        }
        Ok(schema)
    }
}

/// Where the schema is that is being compiled.
struct Location<'c, 'r, 'l> {
    compiler: &'c mut Compiler<'r, 'l>,
    root: usize,
    pointer: &'c str,
    base: &'c str,
}

impl<'d> Resolver<'d> for Location<'_, '_, '_> {
    fn inside(&mut self, keyword: &'static str, step: KeywordPath<'_>, _doc: &'d Doc) -> SchemaId {
        let pointer = match step {
            KeywordPath::None => format!("{}/{keyword}", self.pointer),
            KeywordPath::Key(key) => format!("{}/{keyword}/{}", self.pointer, escape(&key.to_str_lossy())),
            KeywordPath::Index(index) => format!("{}/{keyword}/{index}", self.pointer),
        };
        self.compiler.enqueue(self.root, pointer)
    }

    fn reference(&mut self, reference: &Str) -> Result<SchemaId, String> {
        let (root, pointer) =
            self.compiler.documents.resolve(self.root, self.base, &reference.to_str_lossy())?;
        Ok(self.compiler.enqueue(root, pointer))
    }

    fn regex(&mut self, pattern: &Str, keyword: &'static str) -> Result<Rc<Regex>, String> {
        let regex = Regex::compile(pattern.as_bytes());
        let work = regex.as_ref().map_or_else(RegexError::compile_cost, Regex::compile_cost);
        if !self.compiler.budget.spend_pattern(work) {
            return Err("the patterns of the schema are too large together".to_owned());
        }
        regex.map(Rc::new).map_err(|error| {
            // The precheck does not compile patterns, so an invalid one is reported by the metaschema here.
            if let Err(message) = self.compiler.documents.check_in_full(self.root) {
                return message;
            }
            let url = &self.compiler.documents.roots[self.root].url;
            let location = quote::quote(located(url, &format!("{}/{keyword}", self.pointer)).as_bytes());
            format!("invalid regex {} at {location}: {error}", quote::quote(pattern.as_bytes()))
        })
    }
}
