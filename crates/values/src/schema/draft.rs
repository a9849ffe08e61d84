//! The drafts of JSON Schema: names, metaschemas, and which keywords hold subschemas.

use super::document::Doc;

/// A supported draft.
#[derive(Debug)]
pub(super) struct Draft {
    /// 4, 6, 7, 2019 or 2020.
    pub(super) version: u16,
    /// The metaschema's URL.
    pub(super) url: &'static str,
    /// The keyword for a schema's identifier.
    pub(super) id: &'static str,
    /// The metaschema and what it refers to, by URL.
    documents: &'static str,
    /// The vocabularies of the draft, without their prefix.
    vocabularies: &'static [&'static str],
}

pub(super) static DRAFTS: [Draft; 5] = [
    Draft {
        version: 4,
        url: "http://json-schema.org/draft-04/schema",
        id: "id",
        documents: include_str!("meta/draft-04.json"),
        vocabularies: &[],
    },
    Draft {
        version: 6,
        url: "http://json-schema.org/draft-06/schema",
        id: "$id",
        documents: include_str!("meta/draft-06.json"),
        vocabularies: &[],
    },
    Draft {
        version: 7,
        url: "http://json-schema.org/draft-07/schema",
        id: "$id",
        documents: include_str!("meta/draft-07.json"),
        vocabularies: &[],
    },
    Draft {
        version: 2019,
        url: "https://json-schema.org/draft/2019-09/schema",
        id: "$id",
        documents: include_str!("meta/draft-2019-09.json"),
        vocabularies: &["core", "applicator", "validation", "meta-data", "format", "content"],
    },
    Draft {
        version: 2020,
        url: "https://json-schema.org/draft/2020-12/schema",
        id: "$id",
        documents: include_str!("meta/draft-2020-12.json"),
        vocabularies: &[
            "core",
            "applicator",
            "unevaluated",
            "validation",
            "meta-data",
            "format-annotation",
            "format-assertion",
            "content",
        ],
    },
];

/// The default draft.
pub(super) fn latest() -> &'static Draft {
    // Helm's library takes a schema without `$schema` for the latest draft.
    &DRAFTS[4]
}

/// The draft that a `$schema` names, if supported.
pub(super) fn named(url: &str) -> Option<&'static Draft> {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let bare = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or(url);
    if !fragment.is_empty() {
        return None;
    }
    if bare == "json-schema.org/schema" {
        return Some(latest());
    }
    DRAFTS.iter().find(|draft| draft.url.split_once("//").is_some_and(|(_, known)| known == bare))
}

/// The document of json-schema.org at `url`, if known.
pub(super) fn metaschema(url: &str) -> Option<Doc> {
    let bare = url
        .strip_prefix("http://json-schema.org/")
        .or_else(|| url.strip_prefix("https://json-schema.org/"))?;
    let bare = if bare == "schema" { "draft/2020-12/schema" } else { bare };
    DRAFTS.iter().find_map(|draft| {
        let folder = draft.url.split_once("json-schema.org/")?.1.strip_suffix("schema")?;
        if !bare.starts_with(folder) {
            return None;
        }
        let Ok(Doc::Map(documents)) = Doc::read(draft.documents.as_bytes()) else { return None };
        let found = documents.into_iter().find(|(known, _)| known.as_bytes().ends_with(bare.as_bytes()));
        found.map(|(_, doc)| doc)
    })
}

/// A draft with the vocabularies that a custom metaschema selects.
#[derive(Clone, Debug)]
pub(super) struct Dialect {
    pub(super) draft: &'static Draft,
    pub(super) vocabularies: Option<Vec<String>>,
}

impl Dialect {
    pub(super) fn new(draft: &'static Draft) -> Self {
        Dialect { draft, vocabularies: None }
    }

    pub(super) fn has(&self, vocabulary: &str) -> bool {
        if vocabulary == "core" || self.draft.version < 2019 {
            return true;
        }
        match &self.vocabularies {
            Some(chosen) => chosen.iter().any(|name| name == vocabulary),
            None => match vocabulary {
                "applicator" | "validation" => true,
                // In 2019 it was part of the vocabulary `applicator`.
                "unevaluated" => self.draft.version >= 2020,
                _ => false,
            },
        }
    }
}

impl Draft {
    /// The identifier of a schema, without its fragment.
    pub(super) fn identity<'d>(&self, schema: &'d pintle_tree::Map<Doc>) -> Option<&'d str> {
        // Siblings of `$ref` are ignored up to draft 7, `$id` among them.
        if self.version < 2019 && schema.contains_key("$ref") {
            return None;
        }
        let id = schema.get(self.id)?.as_text()?.as_str()?;
        let id = id.split('#').next().unwrap_or(id);
        (!id.is_empty()).then_some(id)
    }

    /// The vocabularies that a metaschema requires.
    ///
    /// # Errors
    /// Names one that does not exist.
    pub(super) fn chosen_vocabularies(&self, metaschema: &Doc) -> Result<Option<Vec<String>>, String> {
        let chosen = metaschema.as_map().and_then(|map| map.get("$vocabulary")).and_then(Doc::as_map);
        let (Some(chosen), true) = (chosen, self.version >= 2019) else { return Ok(None) };
        let prefix = format!("{}vocab/", self.url.strip_suffix("schema").unwrap_or(self.url));
        let mut names = vec!["core".to_owned()];
        for (url, wanted) in chosen.iter() {
            if wanted.as_bool() != Some(true) {
                continue;
            }
            let url = url.to_string();
            match url.strip_prefix(&prefix).filter(|name| self.vocabularies.contains(name)) {
                Some(name) => names.push(name.to_owned()),
                None => return Err(url),
            }
        }
        Ok(Some(names))
    }

    /// The schema at a pointer, if every step is a keyword that holds schemas. Escapes are not resolved.
    pub(super) fn subschema_at<'d>(&self, doc: &'d Doc, pointer: &str) -> Option<&'d Doc> {
        let mut doc = doc;
        let mut steps = pointer.split('/');
        if !steps.next()?.is_empty() || pointer.contains(['~', '%']) {
            return None;
        }
        while let Some(keyword) = steps.next() {
            let (since, shape) = shape(keyword)?;
            let inner = doc.as_map()?.get(keyword)?;
            doc = match (shape, inner) {
                _ if self.version < since => return None,
                (Shape::Map, Doc::Map(map)) => map.get(steps.next()?)?,
                (Shape::List | Shape::Either, Doc::List(list)) => {
                    list.get(steps.next()?.parse::<usize>().ok()?)?
                }
                (Shape::One | Shape::Either, inner) => inner,
                _ => return None,
            };
        }
        Some(doc)
    }

    /// Visits every direct subschema of `schema` with its pointer.
    pub(super) fn subschemas<E>(
        &self,
        schema: &pintle_tree::Map<Doc>,
        pointer: &str,
        mut visit: impl FnMut(&Doc, String) -> Result<(), E>,
    ) -> Result<(), E> {
        for (keyword, doc) in schema.iter() {
            let Some(keyword) = keyword.as_str() else { continue };
            let Some((since, shape)) = shape(keyword) else { continue };
            if self.version < since {
                continue;
            }
            match (shape, doc) {
                (Shape::Map, Doc::Map(map)) => {
                    for (name, doc) in map.iter() {
                        let name = super::document::escape(&name.to_str_lossy());
                        visit(doc, format!("{pointer}/{keyword}/{name}"))?;
                    }
                }
                (Shape::List | Shape::Either, Doc::List(list)) => {
                    // The library counts the list itself as a subschema, too.
                    if shape == Shape::Either {
                        visit(doc, format!("{pointer}/{keyword}"))?;
                    }
                    for (index, doc) in list.iter().enumerate() {
                        visit(doc, format!("{pointer}/{keyword}/{index}"))?;
                    }
                }
                (Shape::One | Shape::Either, doc) => visit(doc, format!("{pointer}/{keyword}"))?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// How a keyword holds schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    List,
    Map,
    Either,
}

/// The draft since which a keyword holds schemas, and how.
fn shape(keyword: &str) -> Option<(u16, Shape)> {
    Some(match keyword {
        "definitions" | "properties" | "patternProperties" | "dependencies" => (4, Shape::Map),
        "allOf" | "anyOf" | "oneOf" => (4, Shape::List),
        "not" | "additionalProperties" | "additionalItems" => (4, Shape::One),
        "items" => (4, Shape::Either),
        "propertyNames" | "contains" => (6, Shape::One),
        "if" | "then" | "else" => (7, Shape::One),
        "$defs" | "dependentSchemas" => (2019, Shape::Map),
        "unevaluatedProperties" | "unevaluatedItems" | "contentSchema" => (2019, Shape::One),
        "prefixItems" => (2020, Shape::List),
        _ => return None,
    })
}
