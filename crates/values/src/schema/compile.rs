//! Compiles the keywords of one schema to rules.

use std::rc::Rc;

use pintle_regex::Regex;
use pintle_tree::{Map, Str};

use super::decimal::Decimal;
use super::document::Doc;
use super::draft::Dialect;
use super::format;
use super::rules::{Additional, ArrayRules, Dependency, Logic, ObjectRules, Schema, SchemaId, Types};

/// Where a subschema is below its keyword.
#[derive(Clone, Copy)]
pub(super) enum KeywordPath<'s> {
    /// The keyword's value is the schema.
    None,
    Key(&'s Str),
    Index(usize),
}

/// Resolves other schemas while one is compiled.
pub(super) trait Resolver<'d> {
    /// The schema below a keyword of the current one.
    fn inside(&mut self, keyword: &'static str, step: KeywordPath<'_>, doc: &'d Doc) -> SchemaId;

    /// The schema that a reference resolves to.
    fn reference(&mut self, reference: &Str) -> Result<SchemaId, String>;

    /// A compiled pattern.
    fn regex(&mut self, pattern: &Str, keyword: &'static str) -> Result<Rc<Regex>, String>;
}

/// Compiles the keywords in `map` into `schema`, whose draft is set.
pub(super) fn compile<'d>(
    map: &'d Map<Doc>,
    dialect: &Dialect,
    asserts_formats: bool,
    resolver: &mut impl Resolver<'d>,
    schema: &mut Schema,
) -> Result<(), String> {
    let asserts_formats = asserts_formats
        || match schema.draft {
            // Formats are assertions up to draft 7. Later drafts make them annotations unless a vocabulary
            // asks for assertions.
            0..2019 => true,
            2019 => dialect.has("format"),
            _ => dialect.has("format-assertion"),
        };
    let mut keywords = Keywords {
        map,
        version: schema.draft,
        applicator: dialect.has("applicator"),
        validation: dialect.has("validation"),
        unevaluated: schema.draft >= 2019
            && dialect.has(if schema.draft == 2019 { "applicator" } else { "unevaluated" }),
        asserts_formats,
        resolver,
    };
    if let Some(reference) = map.get("$ref").and_then(Doc::as_text) {
        schema.references.get_or_insert_default().reference = Some(keywords.resolver.reference(reference)?);
        if schema.draft < 2019 {
            keywords.beside_reference(schema);
            return Ok(());
        }
    }
    for (keyword, doc) in map.iter() {
        if let Some(keyword) = keyword.as_str() {
            keywords.any(keyword, doc, schema)?;
        }
    }
    Ok(())
}

struct Keywords<'d, 'p, P> {
    map: &'d Map<Doc>,
    version: u16,
    applicator: bool,
    validation: bool,
    unevaluated: bool,
    asserts_formats: bool,
    resolver: &'p mut P,
}

impl<'d, P: Resolver<'d>> Keywords<'d, '_, P> {
    /// Old drafts ignore siblings of `$ref`. Helm's library still processes keywords introduced after draft 4: it
    /// asserts `const` and compiles the others, so their references must be valid.
    fn beside_reference(&mut self, schema: &mut Schema) {
        if self.version >= 6 {
            if let Some(constant) = self.map.get("const") {
                schema.value.get_or_insert_default().constant = Some(constant.clone());
            }
            self.one("contains");
            self.one("propertyNames");
        }
        if self.version >= 7 {
            self.condition(&mut Logic::default());
        }
    }

    /// Compiles one keyword.
    fn any(&mut self, keyword: &str, doc: &'d Doc, schema: &mut Schema) -> Result<(), String> {
        match keyword {
            "format" if self.asserts_formats => {
                if let Some(format) = doc.as_text().and_then(|name| format::named(name.as_bytes())) {
                    schema.value.get_or_insert_default().format = Some(format);
                }
                Ok(())
            }
            "$recursiveRef" | "$recursiveAnchor" | "$dynamicRef" | "$dynamicAnchor" => {
                self.reference(keyword, doc, schema)
            }
            "unevaluatedProperties" if self.unevaluated => {
                schema.object.get_or_insert_default().unevaluated = self.one("unevaluatedProperties");
                Ok(())
            }
            "unevaluatedItems" if self.unevaluated => {
                schema.array.get_or_insert_default().unevaluated = self.one("unevaluatedItems");
                Ok(())
            }
            _ if self.applicator && self.applies(keyword, doc, schema)? => Ok(()),
            _ if self.validation => self.asserts(keyword, doc, schema),
            _ => Ok(()),
        }
    }

    fn reference(&mut self, keyword: &str, doc: &'d Doc, schema: &mut Schema) -> Result<(), String> {
        if self.version < 2019 || (self.version < 2020 && keyword.starts_with("$dynamic")) {
            return Ok(());
        }
        if keyword == "$recursiveAnchor" {
            schema.references.get_or_insert_default().recursive_anchor = doc.as_bool() == Some(true);
        }
        let Some(text) = doc.as_text() else { return Ok(()) };
        match keyword {
            "$recursiveRef" => {
                schema.references.get_or_insert_default().recursive = Some(self.resolver.reference(text)?);
            }
            "$dynamicAnchor" => schema.references.get_or_insert_default().dynamic_anchor = Some(text.clone()),
            "$dynamicRef" => {
                let id = self.resolver.reference(text)?;
                let text = text.to_str_lossy();
                let fragment = text.split_once('#').map_or("", |(_, fragment)| fragment);
                let fragment = super::url::unescape(fragment)?;
                let anchor = (!fragment.is_empty() && !fragment.starts_with('/')).then_some(fragment);
                schema.references.get_or_insert_default().dynamic = Some((id, anchor));
            }
            _ => {}
        }
        Ok(())
    }

    /// Compiles a keyword that holds other schemas. Returns whether it is one.
    fn applies(&mut self, keyword: &str, doc: &'d Doc, schema: &mut Schema) -> Result<bool, String> {
        let version = self.version;
        match keyword {
            "allOf" => schema.logic.get_or_insert_default().all = self.list("allOf"),
            "anyOf" => schema.logic.get_or_insert_default().any = self.list("anyOf"),
            "oneOf" => schema.logic.get_or_insert_default().one = self.list("oneOf"),
            "not" => schema.logic.get_or_insert_default().not = self.one("not"),
            "if" if version >= 7 => self.condition(schema.logic.get_or_insert_default()),
            "properties" => {
                object(schema).properties = self.named("properties").into_iter().collect();
            }
            "patternProperties" => {
                for (pattern, id) in self.named("patternProperties") {
                    let pattern = self.resolver.regex(&pattern, "patternProperties")?;
                    object(schema).patterns.push((pattern, id));
                }
            }
            "additionalProperties" => object(schema).additional = self.additional("additionalProperties"),
            "dependencies" => object(schema).dependencies = self.dependencies(doc),
            "propertyNames" if version >= 6 => object(schema).names = self.one("propertyNames"),
            "dependentSchemas" if version >= 2019 => {
                object(schema).dependent_schemas = self.named("dependentSchemas");
            }
            "prefixItems" if version >= 2020 => array(schema).first = self.list("prefixItems"),
            "items" if version < 2020 && doc.as_list().is_some() => {
                array(schema).first = self.list("items");
                array(schema).rest = self.additional("additionalItems");
            }
            "items" => array(schema).rest = self.one("items").map(Additional::Schema),
            "contains" if version >= 6 => {
                array(schema).contains = self.one("contains");
                if self.validation && version >= 2019 {
                    array(schema).minimum_contained = self.map.get("minContains").and_then(count);
                    array(schema).maximum_contained = self.map.get("maxContains").and_then(count);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Compiles a keyword that asserts something by itself.
    fn asserts(&mut self, keyword: &str, doc: &'d Doc, schema: &mut Schema) -> Result<(), String> {
        match keyword {
            "type" => schema.types = Types::read(doc),
            "enum" => {
                if let Some(choices) = doc.as_list() {
                    schema.value.get_or_insert_default().choices = Some(choices.to_vec());
                }
            }
            "const" if self.version >= 6 => schema.value.get_or_insert_default().constant = Some(doc.clone()),
            "required" => object(schema).required = doc.as_texts().unwrap_or_default(),
            "minProperties" => object(schema).minimum = count(doc),
            "maxProperties" => object(schema).maximum = count(doc),
            "dependentRequired" if self.version >= 2019 => {
                let texts = |(key, doc): (&Str, &Doc)| Some((key.clone(), doc.as_texts()?));
                let required = doc.as_map().map(|map| map.iter().filter_map(texts).collect());
                object(schema).dependent_required = required.unwrap_or_default();
            }
            "minItems" => array(schema).minimum = count(doc),
            "maxItems" => array(schema).maximum = count(doc),
            "uniqueItems" => array(schema).unique = doc.as_bool() == Some(true),
            "minLength" => schema.text.get_or_insert_default().minimum = count(doc),
            "maxLength" => schema.text.get_or_insert_default().maximum = count(doc),
            "pattern" => {
                if let Some(pattern) = doc.as_text() {
                    schema.text.get_or_insert_default().pattern =
                        Some(self.resolver.regex(pattern, "pattern")?);
                }
            }
            // All limits are compiled together with the first of them.
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
                if schema.number.is_none() =>
            {
                self.number(schema);
            }
            _ => {}
        }
        Ok(())
    }

    /// Numeric limits. In draft 4 the exclusive ones are booleans that modify the plain ones.
    fn number(&mut self, schema: &mut Schema) {
        let number = |keyword: &str| self.map.get(keyword).and_then(decimal);
        let switched = |keyword: &str| self.map.get(keyword).and_then(Doc::as_bool) == Some(true);
        let rules = schema.number.get_or_insert_default();
        (rules.minimum, rules.above) = match switched("exclusiveMinimum") {
            true => (None, number("minimum")),
            false => (number("minimum"), number("exclusiveMinimum")),
        };
        (rules.maximum, rules.below) = match switched("exclusiveMaximum") {
            true => (None, number("maximum")),
            false => (number("maximum"), number("exclusiveMaximum")),
        };
        rules.unit = number("multipleOf");
    }

    /// The schemas of `if`, `then` and `else` that can apply.
    fn condition(&mut self, logic: &mut Logic) {
        logic.condition = self.one("if");
        if logic.condition.is_some() {
            // Helm's library does not compile a branch that a boolean `if` rules out, so a bad reference in
            // it is not reported.
            let fixed = self.map.get("if").and_then(Doc::as_bool);
            logic.then = if fixed == Some(false) { None } else { self.one("then") };
            logic.otherwise = if fixed == Some(true) { None } else { self.one("else") };
        }
    }

    fn dependencies(&mut self, doc: &'d Doc) -> Vec<(Str, Dependency)> {
        let Some(map) = doc.as_map() else { return Vec::new() };
        let dependency = |(key, doc): (&'d Str, &'d Doc)| {
            let dependency = match doc.as_texts() {
                Some(names) => Dependency::Properties(names),
                None => Dependency::Schema(self.resolver.inside("dependencies", KeywordPath::Key(key), doc)),
            };
            (key.clone(), dependency)
        };
        map.iter().map(dependency).collect()
    }

    fn one(&mut self, keyword: &'static str) -> Option<SchemaId> {
        let doc = self.map.get(keyword)?;
        Some(self.resolver.inside(keyword, KeywordPath::None, doc))
    }

    fn list(&mut self, keyword: &'static str) -> Vec<SchemaId> {
        let docs = self.map.get(keyword).and_then(Doc::as_list).unwrap_or_default();
        let inside = |(index, doc)| self.resolver.inside(keyword, KeywordPath::Index(index), doc);
        docs.iter().enumerate().map(inside).collect()
    }

    fn named(&mut self, keyword: &'static str) -> Vec<(Str, SchemaId)> {
        let Some(map) = self.map.get(keyword).and_then(Doc::as_map) else { return Vec::new() };
        map.iter()
            .map(|(key, doc)| (key.clone(), self.resolver.inside(keyword, KeywordPath::Key(key), doc)))
            .collect()
    }

    fn additional(&mut self, keyword: &'static str) -> Option<Additional> {
        match self.map.get(keyword)? {
            Doc::Bool(allowed) => Some(Additional::Allowed(*allowed)),
            _ => self.one(keyword).map(Additional::Schema),
        }
    }
}

fn object(schema: &mut Schema) -> &mut ObjectRules {
    schema.object.get_or_insert_default()
}

fn array(schema: &mut Schema) -> &mut ArrayRules {
    schema.array.get_or_insert_default()
}

fn decimal(doc: &Doc) -> Option<Decimal> {
    match doc {
        Doc::Number(text) => Decimal::parse(text.as_str()?),
        _ => None,
    }
}

fn count(doc: &Doc) -> Option<i64> {
    decimal(doc).filter(Decimal::is_integer)?.to_i64()
}
