//! `@schema` comments of values files, in both dialects: blocks of YAML between two `# @schema` lines (helm-schema), and
//! `# @schema type:[string, null]; required` on one line (helm-values-schema-json). Types of helm-docs count too.

use pintle_tree::{Map, Node, Str};
use pintle_yaml::Fractions;
use pintle_yaml::commented::{Document, Kind};

use super::derive::type_name;
use super::document::Doc;
use super::{draft, meta};

/// Adds the annotations in comments to a schema that was derived from the same text.
///
/// # Errors
/// When an annotation is invalid; the text has its line.
pub(super) fn apply(text: &[u8], schema: &mut Map<Node>) -> Result<(), String> {
    let Some(document) = Document::read(text).map_err(|error| error.to_string())? else { return Ok(()) };
    let leading = leading_root_blocks(&String::from_utf8_lossy(text));
    let leading = Annotation::read(&leading, &[]).map_err(|error| format!("@schema.root: {error}"))?;
    for (keyword, value) in leading.root {
        schema.insert(keyword, value);
    }
    apply_to_map(&document, document.root(), schema)
}

/// The root blocks above the first key. With an empty line below them, they are comments of the document, not of the key.
fn leading_root_blocks(text: &str) -> String {
    let mut in_block = false;
    let leading = text.lines().take_while(|line| line.is_empty() || line.starts_with('#'));
    let lines = leading.filter(|line| {
        let is_marker = marker(line.trim_start_matches('#').trim()) == Some(Marker::Root);
        in_block ^= is_marker;
        in_block || is_marker
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn apply_to_map(document: &Document, number: usize, schema: &mut Map<Node>) -> Result<(), String> {
    let node = document.node(number);
    let mut required = Vec::new();
    let mut hidden = Vec::new();
    for pair in node.children.chunks_exact(2).filter(|_| node.kind == Kind::Mapping) {
        let (key, value) = (document.node(pair[0]), document.node(pair[1]));
        let name = Str::from(key.value.as_str());
        let annotation = Annotation::read(&key.head_comment, &[&key.line_comment, &value.line_comment])
            .map_err(|error| format!("line {}: @schema: {error}", key.line))?;
        for (keyword, value) in annotation.root.iter() {
            schema.insert(keyword.clone(), value.clone());
        }
        let Some(Node::Map(properties)) = schema.get_mut("properties") else { continue };
        let Some(Node::Map(property)) = properties.get_mut(&name) else { continue };
        if value.kind == Kind::Mapping {
            apply_to_map(document, pair[1], property)?;
        }
        if annotation.required {
            required.push(Node::Str(name.clone()));
        }
        if annotation.hidden {
            hidden.push(name);
        }
        annotation.merge_into(property);
    }
    if let Some(Node::Map(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !hidden.contains(name));
    }
    if !required.is_empty() {
        schema.insert("required".into(), Node::List(required));
    }
    Ok(())
}

/// The keywords of annotations on one line. Others are rejected, except `x-…`, because a typo would go unnoticed.
const INLINE: [&str; 62] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "hidden",
    "if",
    "item",
    "itemEnum",
    "itemPattern",
    "itemProperties",
    "itemRef",
    "itemRequired",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "mergeProperties",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "skipProperties",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];

/// A line that begins or ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Value,
    Root,
}

/// Parses a comment line, without its `#`, as a marker.
pub(super) fn marker(comment: &str) -> Option<Marker> {
    match comment {
        "@schema" | "@schema@" => Some(Marker::Value),
        "@schema.root" => Some(Marker::Root),
        _ => None,
    }
}

#[derive(Debug, Default)]
struct Annotation {
    keywords: Map<Node>,
    /// Keywords for the whole file, from `# @schema.root`.
    root: Map<Node>,
    required: bool,
    hidden: bool,
    skip_properties: bool,
    /// Whether the value may also be null.
    nullable: bool,
}

impl Annotation {
    fn read(head: &str, beside: &[&str]) -> Result<Self, String> {
        let mut annotation = Annotation::default();
        if let Some(kind) = helm_docs_type(head) {
            annotation.keywords.insert("type".into(), kind);
        }
        // The lines of a block, and whether it is for the whole file.
        let mut block: Option<(String, bool)> = None;
        for line in head.lines().chain(beside.iter().flat_map(|text| text.lines())) {
            let content = line.trim_start().trim_start_matches('#');
            let trimmed = content.trim();
            if let Some(marker) = marker(trimmed) {
                match block.take() {
                    Some((text, root)) => annotation.add_block(&text, root)?,
                    None => block = Some((String::new(), marker == Marker::Root)),
                }
            } else if let Some((text, _)) = &mut block {
                text.push_str(content.strip_prefix(' ').unwrap_or(content));
                text.push('\n');
            } else if let Some(keywords) = trimmed.strip_prefix("@schema ") {
                annotation.add_inline(keywords)?;
            }
        }
        if block.is_some() {
            return Err("the block is not closed by another `# @schema`".to_owned());
        }
        check(&annotation.keywords)?;
        check(&annotation.root)?;
        Ok(annotation)
    }

    fn add_block(&mut self, text: &str, root: bool) -> Result<(), String> {
        let keywords = match read_value(text)? {
            Node::Map(keywords) => keywords,
            Node::Nil => Map::new(),
            other => {
                return Err(format!(
                    "a block must have keywords, as `type: string`, not {}",
                    other.json_type()
                ));
            }
        };
        for (name, value) in keywords.iter() {
            match root {
                true => {
                    self.root.insert(name.clone(), with_quoted_null(&name.to_str_lossy(), value.clone()));
                }
                false => self.add(&name.to_str_lossy(), value.clone())?,
            }
        }
        Ok(())
    }

    fn add_inline(&mut self, text: &str) -> Result<(), String> {
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = match part.split_once(':') {
                Some((name, value)) => {
                    let value = read_value(value.trim()).map_err(|error| format!("`{part}`: {error}"))?;
                    (name.trim(), value)
                }
                None => (part, Node::Bool(true)),
            };
            if !INLINE.contains(&name) && !name.starts_with("x-") {
                let known = pintle_tree::suggest::suggest(name, &INLINE);
                let hint = known.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
                return Err(format!("unknown keyword `{name}`{hint}"));
            }
            self.add(name, value)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, value: Node) -> Result<(), String> {
        let value = with_quoted_null(name, value);
        let mut item = |keyword: &str, value: Node| {
            let items = self.keywords.entry_or_insert_with(&"items".into(), Node::empty_map);
            if let Node::Map(items) = items {
                items.insert(keyword.into(), value);
            }
        };
        match (name, &value) {
            ("required", Node::Bool(required)) => self.required = *required,
            ("hidden", Node::Bool(hidden)) => self.hidden = *hidden,
            ("skipProperties", Node::Bool(skip)) => self.skip_properties = *skip,
            ("mergeProperties", _) => {
                return Err("`mergeProperties` is not supported; write `additionalProperties`".to_owned());
            }
            ("$ref" | "itemRef", Node::Str(target)) if target.as_bytes().starts_with(b"$k8s/") => {
                return Err(format!("`{target}`: the alias `$k8s` is not supported; write the whole URL"));
            }
            ("item", _) => item("type", value),
            ("itemEnum", _) => item("enum", value),
            ("itemRef", _) => item("$ref", value),
            ("itemProperties", _) => item("properties", value),
            ("itemPattern", _) => item("pattern", value),
            ("itemRequired", _) => item("required", value),
            ("nullable", Node::Bool(nullable)) => self.nullable = *nullable,
            _ => {
                self.keywords.insert(name.into(), value);
            }
        }
        Ok(())
    }

    /// Whether the annotation allows values that do not have the type of the default.
    fn contradicts_type(&self, property: &Map<Node>) -> bool {
        let Some(kind) = property.get("type").and_then(Node::as_str) else { return false };
        let fits = |value: &Node| {
            let found = type_name(value);
            found == Some(kind) || (kind == "number" && found == Some("integer"))
        };
        let choices = self.keywords.get("enum").and_then(Node::as_list).unwrap_or_default();
        let alternatives = ["anyOf", "oneOf"].iter().any(|keyword| self.keywords.contains_key(keyword));
        alternatives || !choices.iter().chain(self.keywords.get("const")).all(fits)
    }

    fn merge_into(self, property: &mut Map<Node>) {
        if self.skip_properties {
            property.remove("properties");
        }
        // The target of a `$ref` replaces the derived schema.
        if self.keywords.get("$ref").is_some() {
            let description = property.remove("description");
            *property = Map::new();
            if let Some(description) = description {
                property.insert("description".into(), description);
            }
        }
        if self.contradicts_type(property) {
            property.remove("type");
        }
        for (name, value) in self.keywords.iter() {
            match (property.get_mut(name), value) {
                (Some(Node::Map(known)), Node::Map(more)) => {
                    for (name, value) in more.iter() {
                        known.insert(name.clone(), value.clone());
                    }
                }
                _ => {
                    property.insert(name.clone(), value.clone());
                }
            }
        }
        if let Some(kind) = property.get_mut("type").filter(|_| self.nullable) {
            *kind = or_null(std::mem::take(kind));
        }
    }
}

/// The type of a value that may also be null.
fn or_null(kind: Node) -> Node {
    let null = Node::from("null");
    match kind {
        Node::List(mut kinds) if !kinds.contains(&null) => {
            kinds.push(null);
            Node::List(kinds)
        }
        Node::List(kinds) => Node::List(kinds),
        kind if kind == null => kind,
        kind => Node::List(vec![kind, null]),
    }
}

/// Parses YAML as both generators do: `y` is a string, not a boolean.
fn read_value(text: &str) -> Result<Node, String> {
    pintle_yaml::read_typed(text.as_bytes(), Fractions::Kept).map_err(|error| error.to_string())
}

/// Validates the keywords against the metaschema.
fn check(keywords: &Map<Node>) -> Result<(), String> {
    if keywords.is_empty() {
        return Ok(());
    }
    let draft = draft::named(super::derive::DRAFT).unwrap_or_else(draft::latest);
    meta::check(&Doc::from_map(keywords), draft).map_err(|error| {
        // The first line names the draft.
        let lines = error.split_once('\n').map_or(error.as_str(), |(_, lines)| lines);
        format!("this is not a valid schema\n{lines}")
    })
}

/// The type of `# -- (type) text`, if it is a JSON Schema type.
fn helm_docs_type(head: &str) -> Option<Node> {
    let line = head.lines().rev().find_map(|line| line.trim_start().strip_prefix("# --"))?;
    split_type(line.trim_start()).map(|(kind, _)| kind)
}

/// Removes `(type)` from the start of a text, if it is a JSON Schema type.
pub(super) fn without_type(text: &str) -> &str {
    split_type(text).map_or(text, |(_, rest)| rest.trim_start())
}

fn split_type(text: &str) -> Option<(Node, &str)> {
    let (kinds, rest) = text.strip_prefix('(')?.split_once(')')?;
    let kinds: Option<Vec<Node>> =
        kinds.split([',', '/', '|']).map(|kind| schema_type(kind.trim()).map(Node::from)).collect();
    let mut kinds = kinds?;
    let kind = if kinds.len() == 1 { kinds.pop()? } else { Node::List(kinds) };
    Some((kind, rest))
}

/// Replaces YAML nulls in `type` by the string `null`, because authors need not quote it.
fn with_quoted_null(name: &str, value: Node) -> Node {
    let quoted = |kind: Node| if kind.is_nil() { Node::from("null") } else { kind };
    match (name, value) {
        ("type" | "item", Node::Nil) => Node::from("null"),
        ("type" | "item", Node::List(kinds)) => Node::List(kinds.into_iter().map(quoted).collect()),
        // These have values, not schemas.
        ("default" | "enum" | "itemEnum" | "const" | "examples", value) => value,
        (name, Node::List(items)) => {
            Node::List(items.into_iter().map(|item| with_quoted_null(name, item)).collect())
        }
        (_, Node::Map(map)) => {
            let entries = map.into_iter().map(|(name, value)| {
                let value = with_quoted_null(&name.to_str_lossy(), value);
                (name, value)
            });
            Node::Map(entries.collect())
        }
        (_, value) => value,
    }
}

fn schema_type(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" | "tpl" => "string",
        "int" | "integer" => "integer",
        "bool" | "boolean" => "boolean",
        "float" | "number" => "number",
        "list" | "array" => "array",
        "object" | "map" | "dict" => "object",
        "null" | "nil" => "null",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use pintle_tree::Node;

    use super::super::derive::{SchemaFormat, derive};

    fn derived(values: &str) -> String {
        let text = derive(values.as_bytes(), SchemaFormat::Json).expect("a schema");
        let schema = pintle_tree::json::read(&text).expect("JSON");
        let properties = schema.get("properties").cloned().unwrap_or_default();
        let required = schema.get("required").cloned().unwrap_or_default();
        let text = [properties, required].map(|node| pintle_tree::json::write(&node).expect("JSON"));
        text.map(|text| String::from_utf8_lossy(&text).into_owned()).join(" ")
    }

    #[test]
    fn blocks_and_lines_say_what_a_value_may_be() {
        assert_eq!(
            derived("# @schema\n# type: [string, 'null']\n# required: true\n# @schema\na:\n"),
            r#"{"a":{"type":["string","null"]}} ["a"]"#
        );
        assert_eq!(
            derived("a: x # @schema enum:[x, z]; required\nb: [] # @schema item:string\n"),
            r#"{"a":{"default":"x","enum":["x","z"],"type":"string"},"b":{"items":{"type":"string"},"type":"array"}} ["a"]"#
        );
        assert_eq!(derived("a: # @schema type:[string, null]\n"), r#"{"a":{"type":["string","null"]}} null"#);
        assert_eq!(
            derived("# @schema@\n# oneOf: [{type: [null, string]}, {enum: [null]}]\n# @schema@\na:\n"),
            r#"{"a":{"oneOf":[{"type":["null","string"]},{"enum":[null]}]}} null"#
        );
        assert_eq!(derived("# @schema hidden\na: 1\nb: 2\n"), r#"{"b":{"default":2,"type":"integer"}} null"#);
    }

    #[test]
    fn what_an_annotation_allows_is_not_narrowed_by_the_type_of_the_default() {
        for (annotation, schema) in [
            (
                "anyOf:[{type: string}, {type: integer}]",
                r#"{"anyOf":[{"type":"string"},{"type":"integer"}],"default":1}"#,
            ),
            ("enum:[1, y, null]", r#"{"default":1,"enum":[1,"y",null]}"#),
            ("enum:[1, 2]", r#"{"default":1,"enum":[1,2],"type":"integer"}"#),
            ("const: one", r#"{"const":"one","default":1}"#),
            ("nullable", r#"{"default":1,"type":["integer","null"]}"#),
        ] {
            assert_eq!(
                derived(&format!("a: 1 # @schema {annotation}\n")),
                format!("{{\"a\":{schema}}} null")
            );
        }
    }

    #[test]
    fn keywords_that_do_not_exist_or_have_wrong_values_are_errors() {
        for (text, error) in [
            (
                "a: 1 # @schema minimun:1\n",
                "line 1: @schema: unknown keyword `minimun`; did you mean `minimum`?",
            ),
            (
                "# @schema\n# enum: a\n# @schema\na: 1\n",
                "line 4: @schema: this is not a valid schema\n- at '/enum': got string, want array",
            ),
            (
                "# @schema.root\n# title: 1\n# @schema.root\na: 1\n",
                "@schema.root: this is not a valid schema\n- at '/title': got number, want string",
            ),
            (
                "# @schema\n# [a]\n# @schema\na: 1\n",
                "line 4: @schema: a block must have keywords, as `type: string`, not array",
            ),
        ] {
            let found = derive(text.as_bytes(), SchemaFormat::Json).unwrap_err();
            assert_eq!(found.trim_end(), error);
        }
        let found = derive(b"a: 1 # @schema type:nosuch\n", SchemaFormat::Json).unwrap_err();
        assert!(found.contains("'/type': value must be one of 'array'"), "{found}");
    }

    #[test]
    fn types_of_helm_docs_count() {
        assert_eq!(
            derived("# -- (int, string) Port\na:\n"),
            r#"{"a":{"description":"Port","type":["integer","string"]}} null"#
        );
    }

    #[test]
    fn the_text_of_a_block_is_no_description() {
        assert_eq!(
            derived("# Port\n# @schema\n# title: >\n#   of the\n#   service\n# @schema\na: 1\n"),
            r#"{"a":{"default":1,"description":"Port","title":"of the service\n","type":"integer"}} null"#
        );
    }

    #[test]
    fn what_is_not_supported_is_an_error() {
        for (line, error) in [
            ("mergeProperties", "`mergeProperties` is not supported; write `additionalProperties`"),
            ("$ref: $k8s/a.json", "`$k8s/a.json`: the alias `$k8s` is not supported; write the whole URL"),
        ] {
            let text = format!("a: {{}} # @schema {line}\n");
            let found = derive(text.as_bytes(), SchemaFormat::Json).unwrap_err();
            assert_eq!(found, format!("line 1: @schema: {error}"));
        }
    }

    #[test]
    fn a_block_can_be_for_the_whole_file() {
        let text =
            b"# @schema.root\n# title: Values\n# additionalProperties: false\n# @schema.root\n\na: 1\n";
        let schema = derive(text, SchemaFormat::Json).expect("a schema");
        let schema = pintle_tree::json::read(&schema).expect("JSON");
        assert_eq!(schema.get("title"), Some(&Node::from("Values")));
        assert_eq!(schema.get("additionalProperties"), Some(&Node::Bool(false)));
    }

    #[test]
    fn an_open_block_is_an_error() {
        let error = derive(b"a: 1\n# @schema\n# type: string\nb: 1\n", SchemaFormat::Json).unwrap_err();
        assert_eq!(error, "line 4: @schema: the block is not closed by another `# @schema`");
    }
}
