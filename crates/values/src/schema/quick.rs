//! A fast check that accepts ordinary schemas without the metaschema.
//!
//! It accepts less than the metaschemas do, never more: what it does not accept is validated in full.

use pintle_tree::{Map, Str};

use super::document::Doc;

/// Facts about a schema that the compiler needs.
pub(super) struct SchemaFacts<'d> {
    pub(super) references: Vec<&'d Str>,
    pub(super) patterns: Vec<&'d Str>,
    /// Whether no subschema has an identifier, an anchor or a draft of its own.
    pub(super) is_ordinary: bool,
}

impl Default for SchemaFacts<'_> {
    fn default() -> Self {
        SchemaFacts { references: Vec::new(), patterns: Vec::new(), is_ordinary: true }
    }
}

/// Whether a schema is certainly well-formed. Patterns are not checked: compiling finds the invalid ones.
pub(super) fn is_well_formed(doc: &Doc, draft: u16) -> bool {
    inspect(doc, draft, 0, &mut SchemaFacts::default())
}

/// Whether a schema is certainly well-formed; collects facts about it.
pub(super) fn inspect<'d>(doc: &'d Doc, draft: u16, depth: usize, facts: &mut SchemaFacts<'d>) -> bool {
    match doc {
        // Deeper ones are left to the full check, which limits the depth by itself.
        _ if depth > 200 => false,
        Doc::Bool(_) => draft >= 6,
        Doc::Map(map) => {
            let mut look = Precheck { map, draft, depth, facts };
            map.iter().all(|(keyword, doc)| look.fits(keyword, doc))
        }
        _ => false,
    }
}

/// The schema being checked.
struct Precheck<'d, 's> {
    map: &'d Map<Doc>,
    draft: u16,
    depth: usize,
    facts: &'s mut SchemaFacts<'d>,
}

impl<'d> Precheck<'d, '_> {
    fn schema(&mut self, doc: &'d Doc) -> bool {
        inspect(doc, self.draft, self.depth + 1, self.facts)
    }

    fn text(&mut self, doc: &'d Doc, note: fn(&mut SchemaFacts<'d>, &'d Str)) -> bool {
        doc.as_text().is_some_and(|text| {
            note(self.facts, text);
            true
        })
    }

    fn fits(&mut self, keyword: &'d Str, doc: &'d Doc) -> bool {
        let Some(keyword) = keyword.as_str() else { return true };
        let draft = self.draft;
        match keyword {
            "title" | "description" | "$comment" | "format" | "contentMediaType" | "contentEncoding" => {
                doc.as_text().is_some()
            }
            "type" => match doc {
                Doc::Text(name) => is_type(name),
                Doc::List(names) => {
                    is_list(names, |name| name.as_text().is_some_and(is_type)) && !names.is_empty()
                }
                _ => false,
            },
            "properties" | "definitions" | "$defs" | "dependentSchemas" => {
                doc.as_map().is_some_and(|map| map.values().all(|doc| self.schema(doc)))
            }
            "patternProperties" => doc.as_map().is_some_and(|map| {
                self.facts.patterns.extend(map.keys());
                map.values().all(|doc| self.schema(doc))
            }),
            "pattern" => self.text(doc, |facts, pattern| facts.patterns.push(pattern)),
            "additionalProperties" | "additionalItems" => doc.as_bool().is_some() || self.schema(doc),
            "not"
            | "contains"
            | "propertyNames"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contentSchema" => self.schema(doc),
            "items" => match doc {
                Doc::List(items) => {
                    draft < 2020 && !items.is_empty() && items.iter().all(|doc| self.schema(doc))
                }
                _ => self.schema(doc),
            },
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                doc.as_list().is_some_and(|list| !list.is_empty() && list.iter().all(|doc| self.schema(doc)))
            }
            "required" => doc.as_list().is_some_and(|names| {
                is_list(names, |name| name.as_text().is_some()) && (draft >= 6 || !names.is_empty())
            }),
            "enum" => doc
                .as_list()
                .is_some_and(|list| draft >= 2019 || (!list.is_empty() && is_list(list, is_plain_choice))),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains" => is_count(doc),
            "minimum" | "maximum" => matches!(doc, Doc::Number(_)),
            "exclusiveMinimum" => self.is_exclusive(doc, "minimum"),
            "exclusiveMaximum" => self.is_exclusive(doc, "maximum"),
            // Fractions are valid too, but rare; the metaschema decides on them.
            "multipleOf" => is_count(doc) && *doc != Doc::Number("0".into()),
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => doc.as_bool().is_some(),
            "examples" => doc.as_list().is_some(),
            _ if keyword.starts_with('$') || keyword == "id" => self.core_fits(keyword, doc),
            // Rare enough to leave to the metaschema.
            "dependencies" | "dependentRequired" => false,
            _ => true,
        }
    }

    fn core_fits(&mut self, keyword: &'d str, doc: &'d Doc) -> bool {
        match keyword {
            "$ref" => {
                self.text(doc, |facts, reference| facts.references.push(reference))
                    && is_plain_reference(doc, false)
            }
            // An identifier with a fragment is an anchor in old drafts and an error in new ones.
            "$id" | "id" => {
                self.facts.is_ordinary &= self.depth == 0;
                is_plain_reference(doc, false)
                    && !doc.as_text().is_some_and(|text| text.as_bytes().contains(&b'#'))
            }
            "$schema" => {
                self.facts.is_ordinary &= self.depth == 0;
                is_plain_reference(doc, true)
            }
            "$dynamicRef" | "$recursiveRef" => {
                self.facts.is_ordinary = false;
                is_plain_reference(doc, false)
            }
            "$anchor" | "$dynamicAnchor" => {
                self.facts.is_ordinary = false;
                doc.as_text().is_some_and(is_plain_anchor)
            }
            // Rare enough to leave to the metaschema.
            "$vocabulary" | "$recursiveAnchor" => false,
            _ => true,
        }
    }

    /// An exclusive limit is a number, or in draft 4 a boolean that needs the plain limit.
    fn is_exclusive(&self, doc: &Doc, limit: &str) -> bool {
        match doc {
            Doc::Number(_) => self.draft >= 6,
            Doc::Bool(_) => self.draft == 4 && self.map.contains_key(limit),
            _ => false,
        }
    }
}

/// Whether all items satisfy `fits` and are unique.
fn is_list(items: &[Doc], fits: impl Fn(&Doc) -> bool) -> bool {
    // Comparing all pairs is quadratic; longer lists are left to the metaschema.
    items.len() <= 128
        && items.iter().enumerate().all(|(index, item)| fits(item) && !items[..index].contains(item))
}

/// Choices that are equal only if they are spelled the same.
fn is_plain_choice(doc: &Doc) -> bool {
    match doc {
        Doc::Number(text) => is_digits(text.as_bytes()),
        Doc::Nil | Doc::Bool(_) | Doc::Text(_) => true,
        Doc::List(_) | Doc::Map(_) => false,
    }
}

fn is_digits(text: &[u8]) -> bool {
    text.len() <= 9 && text.iter().all(u8::is_ascii_digit)
}

fn is_count(doc: &Doc) -> bool {
    matches!(doc, Doc::Number(text) if is_digits(text.as_bytes()))
}

fn is_type(name: &Str) -> bool {
    matches!(
        name.as_bytes(),
        b"array" | b"boolean" | b"integer" | b"null" | b"number" | b"object" | b"string"
    )
}

fn is_plain_anchor(name: &Str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Whether a reference has only characters that need no escaping rules.
fn is_plain_reference(doc: &Doc, absolute: bool) -> bool {
    let Some(text) = doc.as_text().and_then(Str::as_str) else { return false };
    let body = match text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) {
        Some(body) => body,
        None if absolute => return false,
        None => text.strip_prefix('#').unwrap_or(text),
    };
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'$' | b'~');
    body.strip_suffix('#').unwrap_or(body).bytes().all(plain)
}
