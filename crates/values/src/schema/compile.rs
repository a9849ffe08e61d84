//! Schema documents to rules.

use std::collections::BTreeMap;

use pintle_regex::Regex;
use pintle_tree::{LogLine, Map, Str, quote};

use super::decimal::Decimal;
use super::document::{Doc, escape};
use super::draft::Dialect;
use super::format;
use super::resource::{Documents, at, located};
use super::rules::{
    Additional, ArrayRules, Dependency, Logic, NumberRules, ObjectRules, References, Schema, SchemaId,
    TextRules, Types, ValueRules,
};
use crate::ReadSource;

/// The most schemas that one chart may reach.
const MAX_SCHEMAS: usize = 200_000;

/// Schemas ready for use. The first is where validation begins.
pub(super) struct Compiled {
    pub(super) schemas: Vec<Schema>,
    /// The URLs of the documents that schemas are in.
    pub(super) urls: Vec<String>,
}

impl Compiled {
    /// The URL of a schema.
    pub(super) fn location(&self, id: SchemaId) -> String {
        let schema = &self.schemas[id];
        located(&self.urls[schema.root], &schema.pointer)
    }
}

pub(super) struct Compiler<'r, 'l> {
    documents: Documents<'r, 'l>,
    asserts_formats: bool,
    schemas: Vec<Schema>,
    by_place: BTreeMap<(usize, String), SchemaId>,
}

impl<'r, 'l> Compiler<'r, 'l> {
    pub(super) fn new(read: &'r mut ReadSource<'l>, log: &'r mut Vec<LogLine>) -> Self {
        let documents = Documents::new(read, log);
        Compiler { documents, asserts_formats: false, schemas: Vec::new(), by_place: BTreeMap::new() }
    }

    /// Asserts formats in every draft, as metaschemas need it.
    pub(super) fn asserting_formats(mut self) -> Self {
        self.asserts_formats = true;
        self
    }

    /// Makes a document known under a URL.
    pub(super) fn with(mut self, url: &str, doc: Doc) -> Self {
        self.documents.give(url, doc);
        self
    }

    /// Compiles the document at `url` and all that it refers to.
    pub(super) fn compile(mut self, url: &str) -> Result<Compiled, String> {
        let root = self.documents.root(url)?;
        self.enqueue(root, String::new());
        let mut next = 0;
        while next < self.schemas.len() {
            if next > MAX_SCHEMAS {
                return Err(format!("more than {MAX_SCHEMAS} schemas"));
            }
            self.compile_one(next)?;
            next += 1;
        }
        let urls = self.documents.roots.iter().map(|root| root.url.clone()).collect();
        Ok(Compiled { schemas: self.schemas, urls })
    }

    /// The schema at a place, to be compiled later if it is new.
    fn enqueue(&mut self, root: usize, pointer: String) -> SchemaId {
        let id = self.schemas.len();
        let found = *self.by_place.entry((root, pointer.clone())).or_insert(id);
        if found == id {
            self.schemas.push(Schema { root, pointer, ..Schema::default() });
        }
        found
    }

    fn compile_one(&mut self, id: SchemaId) -> Result<(), String> {
        let (root, pointer) = (self.schemas[id].root, self.schemas[id].pointer.clone());
        self.documents.ensure(root, &pointer)?;
        let document = &self.documents.roots[root];
        let doc = document.doc.clone();
        let doc = at(&document.url, &doc, &pointer)?;
        let resource = document.resource(&pointer);
        let (base, dialect) = (resource.url.clone(), resource.dialect.clone());
        let resource_pointer = resource.pointer.clone();
        let anchors: Vec<(String, String)> = if dialect.draft.version >= 2020 && resource_pointer == pointer {
            let of = |name: &String| resource.anchors.get(name).map(|at| (name.clone(), at.clone()));
            resource.dynamic_anchors.iter().filter_map(of).collect()
        } else {
            Vec::new()
        };
        let mut schema = Schema {
            root,
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
            Doc::Map(map) if map.is_empty() => schema.boolean = Some(true),
            Doc::Map(map) => {
                Object { compiler: self, map, root, pointer: &pointer, base: &base, dialect: &dialect }
                    .compile(&mut schema)?;
            }
            _ => {}
        }
        schema.pointer = pointer;
        self.schemas[id] = schema;
        Ok(())
    }
}

/// One schema that is a map.
struct Object<'c, 'r, 'l, 'd> {
    compiler: &'c mut Compiler<'r, 'l>,
    map: &'d Map<Doc>,
    root: usize,
    pointer: &'d str,
    base: &'d str,
    dialect: &'d Dialect,
}

impl<'d> Object<'_, '_, '_, 'd> {
    fn compile(&mut self, schema: &mut Schema) -> Result<(), String> {
        let version = schema.draft;
        if let Some(reference) = self.reference("$ref")? {
            schema.references.get_or_insert_default().reference = Some(reference);
            if version < 2019 {
                self.compile_beside_reference(schema);
                return Ok(());
            }
        }
        if version >= 2019 {
            self.compile_dynamic_references(schema)?;
        }
        if self.dialect.has("applicator") {
            self.compile_logic(schema);
        }
        self.compile_object(schema)?;
        self.compile_array(schema);
        if self.dialect.has("validation") {
            self.compile_value(schema)?;
            self.compile_number(schema);
        }
        let asserts_format = match version {
            0..2019 => true,
            2019 => self.dialect.has("format"),
            _ => self.dialect.has("format-assertion"),
        };
        if (asserts_format || self.compiler.asserts_formats)
            && let Some(format) = self.text("format").and_then(|name| format::named(name.as_bytes()))
        {
            schema.value.get_or_insert_default().format = Some(format);
        }
        Ok(())
    }

    /// Old drafts ignore what is beside a reference. Helm's library does not ignore keywords that came after draft 4:
    /// it asserts `const`, and compiles the others, so that their references must be good.
    fn compile_beside_reference(&mut self, schema: &mut Schema) {
        if schema.draft >= 6 {
            schema.value = self
                .constant(schema.draft)
                .map(|constant| Box::new(ValueRules { constant: Some(constant), ..ValueRules::default() }));
            self.one("contains");
            self.one("propertyNames");
        }
        if schema.draft >= 7 {
            self.condition();
        }
    }

    fn constant(&self, draft: u16) -> Option<Doc> {
        if draft >= 6 { self.map.get("const").cloned() } else { None }
    }

    /// The schemas of `if`, `then` and `else`, those that can ever count.
    fn condition(&mut self) -> [Option<SchemaId>; 3] {
        let Some(condition) = self.one("if") else { return [None; 3] };
        let fixed = self.map.get("if").and_then(Doc::as_bool);
        let then = if fixed == Some(false) { None } else { self.one("then") };
        let otherwise = if fixed == Some(true) { None } else { self.one("else") };
        [Some(condition), then, otherwise]
    }

    fn compile_dynamic_references(&mut self, schema: &mut Schema) -> Result<(), String> {
        if let Some(id) = self.reference("$recursiveRef")? {
            schema.references.get_or_insert_default().recursive = Some(id);
        }
        if self.flag("$recursiveAnchor") {
            schema.references.get_or_insert_default().recursive_anchor = true;
        }
        if schema.draft < 2020 {
            return Ok(());
        }
        if let Some(id) = self.reference("$dynamicRef")? {
            let text = self.text("$dynamicRef").map(|text| text.to_string()).unwrap_or_default();
            let fragment = text.split_once('#').map_or("", |(_, fragment)| fragment);
            let fragment = super::url::unescape(fragment)?;
            let anchor = (!fragment.is_empty() && !fragment.starts_with('/')).then_some(fragment);
            schema.references.get_or_insert_default().dynamic = Some((id, anchor));
        }
        if let Some(anchor) = self.text("$dynamicAnchor") {
            schema.references.get_or_insert_default().dynamic_anchor = Some(anchor.clone());
        }
        Ok(())
    }

    fn compile_logic(&mut self, schema: &mut Schema) {
        let mut logic = Logic {
            not: self.one("not"),
            all: self.list("allOf"),
            any: self.list("anyOf"),
            one: self.list("oneOf"),
            ..Logic::default()
        };
        if schema.draft >= 7 {
            [logic.condition, logic.then, logic.otherwise] = self.condition();
        }
        let empty = logic.not.is_none() && logic.condition.is_none();
        if !empty || !logic.all.is_empty() || !logic.any.is_empty() || !logic.one.is_empty() {
            schema.logic = Some(Box::new(logic));
        }
    }

    fn compile_object(&mut self, schema: &mut Schema) -> Result<(), String> {
        let mut rules = ObjectRules::default();
        let mut used = false;
        if self.dialect.has("applicator") {
            rules.properties = self.named("properties").into_iter().collect();
            for (pattern, id) in self.named("patternProperties") {
                rules.patterns.push((self.regex(pattern.as_bytes(), "patternProperties")?, id));
            }
            rules.additional = self.additional("additionalProperties");
            rules.dependencies = self.dependencies();
            if schema.draft >= 6 {
                rules.names = self.one("propertyNames");
            }
            if schema.draft >= 2019 {
                rules.dependent_schemas = self.named("dependentSchemas");
            }
            used |= !rules.properties.is_empty() || !rules.patterns.is_empty() || rules.additional.is_some();
            used |= !rules.dependencies.is_empty()
                || rules.names.is_some()
                || !rules.dependent_schemas.is_empty();
        }
        if self.dialect.has("validation") {
            rules.minimum = self.count("minProperties");
            rules.maximum = self.count("maxProperties");
            rules.required = self.map.get("required").and_then(Doc::as_texts).unwrap_or_default();
            if schema.draft >= 2019
                && let Some(map) = self.map.get("dependentRequired").and_then(Doc::as_map)
            {
                let texts = |(key, doc): (&Str, &Doc)| Some((key.clone(), doc.as_texts()?));
                rules.dependent_required = map.iter().filter_map(texts).collect();
            }
            used |= rules.minimum.is_some() || rules.maximum.is_some() || !rules.required.is_empty();
            used |= !rules.dependent_required.is_empty();
        }
        if self.has_unevaluated(schema.draft) {
            rules.unevaluated = self.one("unevaluatedProperties");
            used |= rules.unevaluated.is_some();
        }
        if used {
            schema.object = Some(Box::new(rules));
        }
        Ok(())
    }

    fn has_unevaluated(&self, version: u16) -> bool {
        version >= 2019 && self.dialect.has(if version == 2019 { "applicator" } else { "unevaluated" })
    }

    fn dependencies(&mut self) -> Vec<(Str, Dependency)> {
        let Some(map) = self.map.get("dependencies").and_then(Doc::as_map) else { return Vec::new() };
        let dependency = |(key, doc): (&Str, &Doc)| {
            let dependency = match doc.as_texts() {
                Some(names) => Dependency::Properties(names),
                None => Dependency::Schema(self.inside(&["dependencies", &key.to_str_lossy()])),
            };
            (key.clone(), dependency)
        };
        map.iter().map(dependency).collect()
    }

    fn compile_array(&mut self, schema: &mut Schema) {
        let mut rules = ArrayRules::default();
        let mut used = false;
        if self.dialect.has("applicator") {
            if schema.draft >= 2020 {
                rules.first = self.list("prefixItems");
                rules.rest = self.one("items").map(Additional::Schema);
            } else if self.map.get("items").is_some_and(|items| items.as_list().is_some()) {
                rules.first = self.list("items");
                rules.rest = self.additional("additionalItems");
            } else {
                rules.rest = self.one("items").map(Additional::Schema);
            }
            if schema.draft >= 6 {
                rules.contains = self.one("contains");
            }
            used |= !rules.first.is_empty() || rules.rest.is_some() || rules.contains.is_some();
        }
        if self.dialect.has("validation") {
            rules.minimum = self.count("minItems");
            rules.maximum = self.count("maxItems");
            rules.unique = self.flag("uniqueItems");
            if schema.draft >= 2019 && rules.contains.is_some() {
                rules.minimum_contained = self.count("minContains");
                rules.maximum_contained = self.count("maxContains");
            }
            used |= rules.minimum.is_some() || rules.maximum.is_some() || rules.unique;
        }
        if self.has_unevaluated(schema.draft) {
            rules.unevaluated = self.one("unevaluatedItems");
            used |= rules.unevaluated.is_some();
        }
        if used {
            schema.array = Some(Box::new(rules));
        }
    }

    fn compile_value(&mut self, schema: &mut Schema) -> Result<(), String> {
        if let Some(types) = self.map.get("type") {
            schema.types = Types::read(types);
        }
        let choices = self.map.get("enum").and_then(Doc::as_list).map(<[Doc]>::to_vec);
        let constant = self.constant(schema.draft);
        if choices.is_some() || constant.is_some() {
            schema.value = Some(Box::new(ValueRules { constant, choices, format: None }));
        }
        let pattern = match self.text("pattern") {
            Some(pattern) => Some(self.regex(pattern.as_bytes(), "pattern")?),
            None => None,
        };
        let rules = TextRules { minimum: self.count("minLength"), maximum: self.count("maxLength"), pattern };
        if rules.minimum.is_some() || rules.maximum.is_some() || rules.pattern.is_some() {
            schema.text = Some(Box::new(rules));
        }
        Ok(())
    }

    fn compile_number(&mut self, schema: &mut Schema) {
        let mut rules = NumberRules {
            minimum: self.number("minimum"),
            maximum: self.number("maximum"),
            above: self.number("exclusiveMinimum"),
            below: self.number("exclusiveMaximum"),
            unit: self.number("multipleOf"),
        };
        // In draft 4 these are switches on the plain limits.
        if self.flag("exclusiveMinimum") {
            rules.above = rules.minimum.take();
        }
        if self.flag("exclusiveMaximum") {
            rules.below = rules.maximum.take();
        }
        let limits = [&rules.minimum, &rules.maximum, &rules.above, &rules.below, &rules.unit];
        if limits.iter().any(|limit| limit.is_some()) {
            schema.number = Some(Box::new(rules));
        }
    }

    fn regex(&self, pattern: &[u8], keyword: &str) -> Result<Regex, String> {
        Regex::compile(pattern).map_err(|error| {
            // The quick look does not compile patterns, so the metaschema has its say here.
            if let Err(complaint) = self.compiler.documents.check_in_full(self.root) {
                return complaint;
            }
            let url = &self.compiler.documents.roots[self.root].url;
            let place = located(url, &format!("{}/{keyword}", self.pointer));
            format!("invalid regex {} at {}: {error}", quote::quote(pattern), quote::quote(place.as_bytes()))
        })
    }

    fn reference(&mut self, keyword: &str) -> Result<Option<SchemaId>, String> {
        let Some(reference) = self.text(keyword) else { return Ok(None) };
        let (root, pointer) =
            self.compiler.documents.resolve(self.root, self.base, &reference.to_str_lossy())?;
        Ok(Some(self.compiler.enqueue(root, pointer)))
    }

    fn inside(&mut self, steps: &[&str]) -> SchemaId {
        let mut pointer = self.pointer.to_owned();
        for step in steps {
            pointer.push('/');
            pointer.push_str(&escape(step));
        }
        self.compiler.enqueue(self.root, pointer)
    }

    fn one(&mut self, keyword: &str) -> Option<SchemaId> {
        self.map.contains_key(keyword).then(|| self.inside(&[keyword]))
    }

    fn list(&mut self, keyword: &str) -> Vec<SchemaId> {
        let length = self.map.get(keyword).and_then(Doc::as_list).map_or(0, <[Doc]>::len);
        (0..length).map(|index| self.inside(&[keyword, &index.to_string()])).collect()
    }

    fn named(&mut self, keyword: &str) -> Vec<(Str, SchemaId)> {
        let Some(map) = self.map.get(keyword).and_then(Doc::as_map) else { return Vec::new() };
        map.keys().map(|key| (key.clone(), self.inside(&[keyword, &key.to_str_lossy()]))).collect()
    }

    fn additional(&mut self, keyword: &str) -> Option<Additional> {
        match self.map.get(keyword)? {
            Doc::Bool(allowed) => Some(Additional::Allowed(*allowed)),
            _ => self.one(keyword).map(Additional::Schema),
        }
    }

    fn text(&self, keyword: &str) -> Option<&'d Str> {
        self.map.get(keyword).and_then(Doc::as_text)
    }

    fn flag(&self, keyword: &str) -> bool {
        self.map.get(keyword).and_then(Doc::as_bool) == Some(true)
    }

    fn number(&self, keyword: &str) -> Option<Decimal> {
        match self.map.get(keyword)? {
            Doc::Number(text) => Decimal::parse(text.as_str()?),
            _ => None,
        }
    }

    fn count(&self, keyword: &str) -> Option<i64> {
        self.number(keyword).filter(Decimal::is_integer)?.to_i64()
    }
}
