//! Loads schema documents and resolves references.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use pintle_tree::{LogLine, Map, quote};

use super::document::{Doc, PointerError};
use super::draft::{self, Dialect, Draft};
use super::url::{self, Url};
use super::{meta, quick};
use crate::ReadSource;

/// The maximum nesting of schemas. Helm has no such limit; it keeps hostile schemas from exhausting the stack.
const MAX_DEPTH: usize = 300;

/// A part of a document with its own identifier.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) pointer: String,
    pub(super) url: String,
    pub(super) dialect: Dialect,
    pub(super) anchors: BTreeMap<String, String>,
    pub(super) dynamic_anchors: Vec<String>,
}

/// A document.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) url: String,
    pub(super) doc: Rc<Doc>,
    /// By pointer; the document itself has the empty one.
    resources: BTreeMap<String, Resource>,
    /// The pointers of schemas that were already inspected.
    known: BTreeSet<String>,
}

impl Root {
    /// The resource that a pointer belongs to.
    pub(super) fn resource(&self, pointer: &str) -> &Resource {
        let mut pointer = pointer;
        loop {
            if let Some(resource) = self.resources.get(pointer) {
                return resource;
            }
            match pointer.rfind('/') {
                Some(slash) => pointer = &pointer[..slash],
                None => return &self.resources[""],
            }
        }
    }

    fn with_url(&self, url: &str) -> Option<&Resource> {
        self.resources.values().find(|resource| resource.url == url)
    }

    /// The pointer that a fragment resolves to inside a resource.
    fn fragment_in(&self, fragment: &str, resource: &Resource) -> Result<String, String> {
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(format!("{}{fragment}", resource.pointer));
        }
        resource.anchors.get(fragment).cloned().ok_or_else(|| {
            let reference = quote::quote(located(&resource.url, fragment).as_bytes());
            let url = quote::quote(self.url.as_bytes());
            format!("anchor in {reference} not found in schema {url}")
        })
    }
}

/// A URL with a fragment.
pub(super) fn located(url: &str, fragment: &str) -> String {
    let fragment: Vec<String> = fragment.split('/').map(|token| url::escaped(token, b"$&+=:@")).collect();
    format!("{url}#{}", fragment.join("/"))
}

/// All documents of one compilation.
pub(super) struct Documents<'r, 'l> {
    pub(super) roots: Vec<Root>,
    given: BTreeMap<String, Rc<Doc>>,
    read: &'r mut ReadSource<'l>,
    log: &'r mut Vec<LogLine>,
}

impl<'r, 'l> Documents<'r, 'l> {
    pub(super) fn new(read: &'r mut ReadSource<'l>, log: &'r mut Vec<LogLine>) -> Self {
        Documents { roots: Vec::new(), given: BTreeMap::new(), read, log }
    }

    /// Adds a document under a URL.
    pub(super) fn add(&mut self, url: &str, doc: Doc) {
        self.given.insert(url.to_owned(), Rc::new(doc));
    }

    /// The document at a URL, loaded and checked if it is new.
    pub(super) fn root(&mut self, url: &str) -> Result<usize, String> {
        if let Some(index) = self.roots.iter().position(|root| root.url == url) {
            return Ok(index);
        }
        let doc = self.load(url)?;
        let mut root = Root {
            url: url.to_owned(),
            doc: doc.clone(),
            resources: BTreeMap::new(),
            known: BTreeSet::new(),
        };
        self.collect(&mut root, &doc, url, "", &Dialect::new(draft::latest()), 0)?;
        // Metaschemas are not checked against themselves.
        let built_in = ["http://json-schema.org/", "https://json-schema.org/"];
        if !built_in.iter().any(|prefix| url.starts_with(prefix)) {
            check_against_metaschema(&root, &doc, "")?;
        }
        self.roots.push(root);
        Ok(self.roots.len() - 1)
    }

    fn load(&mut self, url: &str) -> Result<Rc<Doc>, String> {
        if let Some(doc) = self.given.get(url) {
            return Ok(doc.clone());
        }
        let doc = match draft::metaschema(url) {
            Some(doc) => doc,
            None => self
                .fetch(url)
                .map_err(|reason| format!("failing loading {}: {reason}", quote::quote(url.as_bytes())))?,
        };
        let doc = Rc::new(doc);
        self.given.insert(url.to_owned(), doc.clone());
        Ok(doc)
    }

    fn fetch(&mut self, text: &str) -> Result<Doc, String> {
        let url = Url::parse(text)?;
        match url.scheme.as_str() {
            "file" => Doc::read(&(self.read)(&url::unescape(&url.path)?)?),
            "http" | "https" => Doc::read(&(self.read)(text)?),
            // As in Helm: charts use URNs as plain identifiers that cannot be fetched.
            "urn" => {
                let line = LogLine::warn(
                    "unresolved URN reference ignored; using permissive schema",
                    vec![("urn", text.to_owned())],
                );
                if !self.log.contains(&line) {
                    self.log.push(line);
                }
                Ok(Doc::Bool(true))
            }
            _ => Err(format!("no URLLoader registered for {}", quote::quote(url.to_string().as_bytes()))),
        }
    }

    /// Collects the identifiers and anchors of a schema and all its subschemas.
    fn collect(
        &mut self,
        root: &mut Root,
        doc: &Doc,
        base: &str,
        pointer: &str,
        fallback: &Dialect,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("schemas are nested more than {MAX_DEPTH} deep"));
        }
        // References can lead to a subschema that was collected before.
        if !root.known.insert(pointer.to_owned()) {
            return Ok(());
        }
        let Doc::Map(schema) = doc else {
            if pointer.is_empty() {
                root.resources.insert(String::new(), new_resource(pointer, base, fallback.clone()));
            }
            return Ok(());
        };
        let names_schema = schema.get("$schema").is_some_and(|doc| doc.as_text().is_some());
        let mut draft = self.draft_of(&root.url, pointer, schema, fallback.draft, 0)?;
        let mut own_schema = names_schema;
        let mut id = draft.identity(schema);
        // `$schema` counts only in a schema with an identifier; elsewhere the draft is that of the schema
        // around it.
        if id.is_none() && !pointer.is_empty() {
            (draft, own_schema) = (fallback.draft, false);
            id = draft.identity(schema);
        }
        let base = match id {
            Some(id) => {
                join(base, id)
                    .map_err(|_| {
                        let location = located(&root.url, pointer);
                        format!("error in parsing id at {}", quote::quote(location.as_bytes()))
                    })?
                    .0
            }
            None => base.to_owned(),
        };
        if id.is_some() || pointer.is_empty() {
            if let Some(other) = root.with_url(&base) {
                if other.pointer != pointer {
                    let [id, url] = [&base, &root.url].map(|text| quote::quote(text.as_bytes()));
                    let [at, other] = [pointer, &other.pointer].map(|text| quote::quote(text.as_bytes()));
                    return Err(format!("duplicate id {id} in {url} at {at} and {other}"));
                }
            } else {
                let dialect = if own_schema { self.dialect_of(schema, draft)? } else { fallback.clone() };
                root.resources.insert(pointer.to_owned(), new_resource(pointer, &base, dialect));
            }
        }
        let dialect =
            root.with_url(&base).map_or_else(|| fallback.clone(), |resource| resource.dialect.clone());
        collect_anchors(root, schema, pointer, &base)?;
        draft.subschemas(schema, pointer, |doc, pointer| {
            self.collect(root, doc, &base, &pointer, &dialect, depth + 1)
        })
    }

    /// The draft of a schema.
    fn draft_of(
        &mut self,
        url: &str,
        pointer: &str,
        schema: &Map<Doc>,
        default: &'static Draft,
        depth: usize,
    ) -> Result<&'static Draft, String> {
        let Some(named) = schema.get("$schema").and_then(Doc::as_text) else { return Ok(default) };
        let named = named.to_str_lossy();
        if let Some(draft) = draft::named(&named) {
            return Ok(draft);
        }
        let named = named.split('#').next().unwrap_or_default();
        let location = || quote::quote(located(url, pointer).as_bytes());
        Url::parse(named).map_err(|reason| format!("invalid $schema in {}: {reason}", location()))?;
        let quoted = quote::quote(named.as_bytes());
        if pointer.is_empty() && named == url {
            return Err(format!("draft {quoted} is not supported"));
        }
        // Metaschemas can name each other; no real chain is that long.
        if depth > 16 {
            return Err(format!("cycle in resolving $schema in {quoted}"));
        }
        let doc = self.load(named)?;
        match &*doc {
            Doc::Map(schema) => self.draft_of(named, "", schema, default, depth + 1),
            _ => Ok(default),
        }
    }

    fn dialect_of(&mut self, schema: &Map<Doc>, draft: &'static Draft) -> Result<Dialect, String> {
        let named =
            schema.get("$schema").and_then(Doc::as_text).map(|text| text.to_string()).unwrap_or_default();
        if draft::named(&named).is_some() {
            return Ok(Dialect::new(draft));
        }
        let url = named.split('#').next().unwrap_or_default();
        let doc = self.load(url)?;
        let vocabularies = draft.chosen_vocabularies(&doc).map_err(|vocabulary| {
            let [vocabulary, url] = [vocabulary.as_str(), url].map(|text| quote::quote(text.as_bytes()));
            format!("unsupported vocabulary {vocabulary} in {url}")
        })?;
        Ok(Dialect { draft, vocabularies })
    }

    /// Resolves a reference in a document: a document and a pointer into it.
    pub(super) fn resolve(
        &mut self,
        root: usize,
        base: &str,
        reference: &str,
    ) -> Result<(usize, String), String> {
        let (url, fragment) = join(base, reference)?;
        let here = &self.roots[root];
        let resource = if url == here.url { here.resources.get("") } else { here.with_url(&url) };
        if let Some(resource) = resource {
            return Ok((root, here.fragment_in(&fragment, resource)?));
        }
        let index = self.root(&url)?;
        let there = &self.roots[index];
        Ok((index, there.fragment_in(&fragment, &there.resources[""])?))
    }

    /// Validates a document against its metaschema, without the fast check.
    pub(super) fn check_in_full(&self, root: usize) -> Result<(), String> {
        let root = &self.roots[root];
        complain(root, &root.doc, "")
    }

    /// Ensures that the schema at a pointer, which may be anywhere in the document, is known and well-formed.
    pub(super) fn ensure(&mut self, root: usize, pointer: &str) -> Result<(), String> {
        if self.roots[root].known.contains(pointer) {
            return Ok(());
        }
        let doc = self.roots[root].doc.clone();
        let schema = at(&self.roots[root].url, &doc, pointer)?;
        let base = self.roots[root].resource(pointer);
        let (url, dialect) = (base.url.clone(), base.dialect.clone());
        // Moved out, because collecting may load other documents.
        let mut changed = Root {
            url: self.roots[root].url.clone(),
            doc: doc.clone(),
            resources: std::mem::take(&mut self.roots[root].resources),
            known: std::mem::take(&mut self.roots[root].known),
        };
        let result = self.collect(&mut changed, schema, &url, pointer, &dialect, 0);
        let result = result.and_then(|()| check_against_metaschema(&changed, schema, pointer));
        self.roots[root] = changed;
        result
    }
}

/// The value at a pointer of a document.
pub(super) fn at<'d>(url: &str, doc: &'d Doc, pointer: &str) -> Result<&'d Doc, String> {
    doc.at(pointer).map_err(|error| {
        let location = quote::quote(located(url, pointer).as_bytes());
        match error {
            PointerError::Invalid => format!("invalid json-pointer {location}"),
            PointerError::NotFound => format!("json-pointer in {location} not found"),
        }
    })
}

fn check_against_metaschema(root: &Root, doc: &Doc, pointer: &str) -> Result<(), String> {
    if quick::is_well_formed(doc, root.resource(pointer).dialect.draft.version) {
        return Ok(());
    }
    complain(root, doc, pointer)
}

fn complain(root: &Root, doc: &Doc, pointer: &str) -> Result<(), String> {
    meta::check(doc, root.resource(pointer).dialect.draft).map_err(|reason| {
        let location = quote::quote(located(&root.url, pointer).as_bytes());
        format!("{location} is not valid against metaschema: {reason}")
    })
}

fn new_resource(pointer: &str, url: &str, dialect: Dialect) -> Resource {
    Resource {
        pointer: pointer.to_owned(),
        url: url.to_owned(),
        dialect,
        anchors: BTreeMap::new(),
        dynamic_anchors: Vec::new(),
    }
}

fn collect_anchors(root: &mut Root, schema: &Map<Doc>, pointer: &str, base: &str) -> Result<(), String> {
    let Root { url, resources, .. } = root;
    let Some(resource) = resources.values_mut().find(|resource| resource.url == base) else { return Ok(()) };
    let text = |keyword: &str| schema.get(keyword).and_then(Doc::as_text).map(|text| text.to_string());
    let add = |resource: &mut Resource, anchor: String| match resource.anchors.get(&anchor) {
        Some(other) if other != pointer => {
            let [anchor, url] = [&anchor, &*url].map(|text| quote::quote(text.as_bytes()));
            let [other, pointer] = [other.as_str(), pointer].map(|text| quote::quote(text.as_bytes()));
            Err(format!("duplicate anchor {anchor} in {url} at {other} and {pointer}"))
        }
        Some(_) => Ok(()),
        None => {
            resource.anchors.insert(anchor, pointer.to_owned());
            Ok(())
        }
    };
    let version = resource.dialect.draft.version;
    if version < 2019 {
        if schema.contains_key("$ref") {
            return Ok(());
        }
        if let Some(id) = text(resource.dialect.draft.id)
            && let Some((_, fragment)) = id.split_once('#')
        {
            let fragment = url::unescape(fragment).map_err(|_| {
                format!("error in parsing anchor at {}", quote::quote(located(url, pointer).as_bytes()))
            })?;
            if !fragment.is_empty() && !fragment.starts_with('/') {
                add(resource, fragment)?;
            }
        }
        return Ok(());
    }
    if let Some(anchor) = text("$anchor") {
        add(resource, anchor)?;
    }
    if version >= 2020
        && let Some(anchor) = text("$dynamicAnchor")
    {
        add(resource, anchor.clone())?;
        resource.dynamic_anchors.push(anchor);
    }
    Ok(())
}

/// Resolves `reference` against `base`: a URL and a fragment.
fn join(base: &str, reference: &str) -> Result<(String, String), String> {
    let (body, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let bad =
        |text: &str, reason: String| format!("error in parsing {}: {reason}", quote::quote(text.as_bytes()));
    let fragment = url::unescape(fragment).map_err(|reason| bad(reference, reason))?;
    if body.is_empty() {
        return Ok((base.to_owned(), fragment));
    }
    let base = Url::parse(base).map_err(|reason| bad(base, reason))?;
    let reference = Url::parse(body).map_err(|reason| bad(body, reason))?;
    Ok((base.join(&reference).to_string(), fragment))
}
