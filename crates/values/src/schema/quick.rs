//! A quick look that accepts ordinary schemas without the metaschema.
//!
//! It accepts less than the metaschemas do, never more: what it does not accept is checked in full.

use pintle_tree::{Map, Str};

use super::document::Doc;

/// Whether a schema is certainly well-formed. Patterns are not looked at: compiling finds the bad ones.
pub(super) fn is_well_formed(doc: &Doc, draft: u16, depth: usize) -> bool {
    if depth > 200 {
        return false;
    }
    let schema = |doc: &Doc| is_well_formed(doc, draft, depth + 1);
    match doc {
        Doc::Bool(_) => draft >= 6,
        Doc::Map(map) => map.iter().all(|(keyword, doc)| fits(keyword, doc, map, draft, &schema)),
        _ => false,
    }
}

fn fits(keyword: &Str, doc: &Doc, map: &Map<Doc>, draft: u16, schema: &dyn Fn(&Doc) -> bool) -> bool {
    let Some(keyword) = keyword.as_str() else { return true };
    match keyword {
        "title" | "description" | "$comment" | "format" | "pattern" | "contentMediaType"
        | "contentEncoding" => doc.as_text().is_some(),
        // An identity with a fragment is an anchor in old drafts and an error in new ones.
        "$id" | "id" => {
            is_plain_reference(doc, false)
                && !doc.as_text().is_some_and(|text| text.as_bytes().contains(&b'#'))
        }
        "$schema" | "$ref" | "$dynamicRef" | "$recursiveRef" => is_plain_reference(doc, keyword == "$schema"),
        "$anchor" | "$dynamicAnchor" => doc.as_text().is_some_and(is_plain_anchor),
        "type" => match doc {
            Doc::Text(name) => is_type(name),
            Doc::List(names) => {
                is_list(names, |name| name.as_text().is_some_and(is_type)) && !names.is_empty()
            }
            _ => false,
        },
        "properties" | "definitions" | "$defs" | "patternProperties" | "dependentSchemas" => {
            doc.as_map().is_some_and(|map| map.values().all(schema))
        }
        "additionalProperties" | "additionalItems" => doc.as_bool().is_some() || schema(doc),
        "not"
        | "contains"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => schema(doc),
        "items" => match doc {
            Doc::List(items) => draft < 2020 && !items.is_empty() && items.iter().all(schema),
            _ => schema(doc),
        },
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
            doc.as_list().is_some_and(|list| !list.is_empty() && list.iter().all(schema))
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
        "exclusiveMinimum" | "exclusiveMaximum" => match doc {
            Doc::Number(_) => draft >= 6,
            Doc::Bool(_) => {
                draft == 4
                    && map.contains_key(if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" })
            }
            _ => false,
        },
        "multipleOf" => is_count(doc) && *doc != Doc::Number("0".into()),
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => doc.as_bool().is_some(),
        "examples" => doc.as_list().is_some(),
        // Rare enough for the metaschema.
        "dependencies" | "dependentRequired" | "$vocabulary" | "$recursiveAnchor" => false,
        _ => true,
    }
}

/// Whether the items all fit and none is there twice.
fn is_list(items: &[Doc], fits: impl Fn(&Doc) -> bool) -> bool {
    items.len() <= 64
        && items.iter().enumerate().all(|(index, item)| fits(item) && !items[..index].contains(item))
}

/// Choices whose equality is that of their spelling.
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

/// Whether a reference is made of characters that need no thought.
fn is_plain_reference(doc: &Doc, absolute: bool) -> bool {
    let Some(text) = doc.as_text().and_then(Str::as_str) else { return false };
    let body = match text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) {
        Some(body) => body,
        None if absolute => return false,
        None => text.strip_prefix('#').unwrap_or(text),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'$');
    body.strip_suffix('#').unwrap_or(body).bytes().all(plain)
}
