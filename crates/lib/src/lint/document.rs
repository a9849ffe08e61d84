//! Splits rendered files into documents for lint, each with the few fields that rules need.
//!
//! This differs from how rendering splits files. Lint in Helm uses the reader of Kubernetes, where only a line of
//! `---`, blanks and a comment ends a document, and a text that starts with `{` is JSON.

use pintle_tree::{Node, Str, json};
use pintle_yaml::Stream;
use pintle_yaml::decode::{Decoder, matches_field, read_tree};

/// The fields of an object that rules need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    /// The API version, or empty.
    pub(super) api_version: String,
    /// The kind, or empty.
    pub(super) kind: String,
    /// The name, or empty.
    pub(super) name: String,
}

/// A document, `None` for an empty one, or a parse error.
pub(super) type Outcome = Result<Option<Document>, String>;

/// Parses the documents of a text; stops after an error.
pub(super) fn documents(text: &[u8]) -> impl Iterator<Item = Outcome> {
    let mut stream = Stream::new(text);
    std::iter::from_fn(move || {
        let read = stream.next_with(read_json, |document| {
            let node = read_tree(&document, false).map_err(|error| error.to_string())?;
            decode(&node)
        });
        Some(read?.map_err(|error| format!("unable to parse YAML: {error}")))
    })
}

/// Parses a JSON value as a document.
fn read_json(text: &[u8]) -> Result<(Option<Document>, usize), json::Error> {
    let (node, used) = json::read_prefix(text)?;
    // Go converts YAML to JSON first and says so in errors; for JSON input there is no such prefix.
    let plain = |error: String| match error.strip_prefix("error unmarshaling JSON: while decoding JSON: ") {
        Some(plain) => plain.to_owned(),
        None => error,
    };
    let failed = |error| json::Error::new(json::ErrorKind::Type, plain(error), used);
    if let Some(error) = scalar_for_text(&node) {
        return Err(failed(error));
    }
    Ok((decode(&node).map_err(failed)?, used))
}

/// The error of Go's JSON decoder for a number or boolean where a string is expected. Only YAML input converts them.
fn scalar_for_text(node: &Node) -> Option<String> {
    let found = node.as_map()?.iter().find_map(|(key, value)| {
        let fields = if matches_field(key.as_bytes(), "Metadata") { value.as_map() } else { None };
        match fields {
            Some(fields) => fields.iter().find_map(|(key, value)| unfit(key, value, &["Namespace", "Name"])),
            None => unfit(key, value, &["apiVersion", "Kind"]),
        }
    })?;
    Some(json::type_error(found.json_type(), "", &json::path_of(node, found), "string"))
}

/// The value, if it is a scalar but no string, and the key is one of those of strings.
fn unfit<'n>(key: &Str, value: &'n Node, texts: &[&str]) -> Option<&'n Node> {
    let is_text = texts.iter().any(|field| matches_field(key.as_bytes(), field));
    let is_scalar = matches!(value, Node::Bool(_) | Node::Int(_) | Node::Float(_));
    (is_text && is_scalar).then_some(value)
}

fn decode(node: &Node) -> Result<Option<Document>, String> {
    if node.is_nil() {
        return Ok(None);
    }
    let mut decoder = Decoder::new(false);
    let mut document = Document::default();
    let names = ["apiVersion", "Kind", "Metadata"];
    decoder.document(node, "rules.k8sYamlStruct", &names, |decoder, field, value| match field {
        "apiVersion" => decoder.string(value, &mut document.api_version),
        "Kind" => decoder.string(value, &mut document.kind),
        _ => {
            let names = ["Namespace", "Name"];
            decoder.structure(value, "rules.k8sYamlMetadata", &names, |decoder, field, value| {
                let mut namespace = String::new();
                let target = if field == "Name" { &mut document.name } else { &mut namespace };
                decoder.string(value, target);
            });
        }
    });
    decoder.finish(node)?;
    Ok(Some(document))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Result<String, String>> {
        documents(text.as_bytes())
            .filter_map(|outcome| outcome.map(|document| Some(document?.kind)).transpose())
            .collect()
    }

    #[test]
    fn a_comment_on_the_line_of_a_separator_belongs_to_it() {
        let text = "---\nkind: A\n--- # no\nkind: B\n---# text\nkind: C\n---  \n---\nkind: D\n";
        assert_eq!(kinds(text), ["A", "B", "C", "D"].map(|kind| Ok(kind.to_owned())));
    }

    #[test]
    fn other_text_on_the_line_of_a_separator_is_an_error() {
        let error = "unable to parse YAML: invalid Yaml document separator: kind: B";
        assert_eq!(kinds("kind: A\n---kind: B\n"), [Err(error.to_owned())]);
    }

    #[test]
    fn json_with_numbers_for_text_is_read_as_yaml() {
        assert_eq!(kinds(r#"{"kind": 1, "apiVersion": 2, "metadata": {"name": 3}} x"#), [Ok("1".to_owned())]);
        let error = "unable to parse YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array \
                     into Go struct field .kind of type string";
        assert_eq!(
            kinds("{\"kind\": 1}\n---\n{\"kind\": [2]}\n"),
            [Ok("1".to_owned()), Err(error.to_owned())]
        );
        let both = r#"{"kind": true, "metadata": {"name": ["a"]}}"#;
        let error = "unable to parse YAML: json: cannot unmarshal bool into Go struct field .kind of \
                     type string";
        assert_eq!(kinds(both), [Err(error.to_owned())]);
    }

    #[test]
    fn what_begins_as_json_is_json_until_it_is_not() {
        let kinds = |text: &str| -> Vec<Result<String, String>> {
            let outcomes = documents(text.as_bytes());
            outcomes
                .map(|outcome| outcome.map(|found| found.map_or("-".to_owned(), |found| found.kind)))
                .collect()
        };
        let good = |kind: &str| Ok(kind.to_owned());
        let bad = |reason: &str| Err(format!("unable to parse YAML: {reason}"));
        assert_eq!(kinds(r#"{"kind":"A"}{"kind":"B"}"#), [good("A"), good("B")]);
        assert_eq!(
            kinds(r#"{"kind":"A"} x"#),
            [good("A"), bad("json: offset 14: invalid character 'x' looking for beginning of value")]
        );
        assert_eq!(
            kinds("{\"kind\":\"A\"}\n---\n{\"kind\": "),
            [good("A"), bad("json: offset 15: invalid character '-' in numeric literal")]
        );
        assert_eq!(
            kinds("{\"kind\":\"A\"}\n---\nkind: B\n---\nkind: C\n"),
            [good("A"), good("B"), good("C")]
        );
        assert_eq!(kinds("{kind: A}\n---\na: b: c\n").len(), 2);
        assert_eq!(kinds("{"), [bad("unexpected EOF")]);
        assert_eq!(
            kinds("{}{}x"),
            [good(""), good(""), bad("invalid character 'x' looking for beginning of value")]
        );
    }
}
