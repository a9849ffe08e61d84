//! Validates values against values.schema.json and values.schema.yaml.
//!
//! The validator is our own, because its messages and their order are part of Helm's observable output.

mod address;
mod annotations;
mod budget;
mod cache;
mod clock;
mod compile;
mod decimal;
mod derive;
mod document;
mod draft;
mod eager;
mod format;
mod lazy;
mod message;
mod meta;
mod quick;
mod resource;
mod rules;
mod url;
mod validate;
mod validator;

use pintle_chart::Chart;
use pintle_tree::{LogLine, Node, Str};

use crate::{ReadSource, Result, go_format};
use budget::Budget;
pub use cache::{ParsedSchemas, SchemaCache};
pub use derive::{SchemaFormat, derive, derive_with};
use document::Doc;
use eager::Compiler;
use lazy::Lazy;
pub use validator::{SchemaDocument, Validator, Violation};

/// The names of schemas in messages.
const JSON_URL: &str = "file:///values.schema.json";
const YAML_URL: &str = "file:///values.schema.yaml";

/// Validates the coalesced values of a chart and its subcharts. `read` returns documents that schemas refer to: it gets
/// the absolute path for `file:` URLs, and the URL for `http:` and `https:`.
///
/// # Errors
/// Lists all violations, chart by chart.
pub fn check(chart: &Chart, values: &Node, read: &mut ReadSource<'_>, log: &mut Vec<LogLine>) -> Result<()> {
    SchemaCache::new(&ParsedSchemas::default()).check(chart, values, read, log)
}

/// Validates the values of one chart against its schemas, if there are any.
fn check_chart(
    chart: &Chart,
    values: &Node,
    cache: &SchemaCache<'_>,
    read: &mut ReadSource<'_>,
    log: &mut Vec<LogLine>,
    budget: &Budget,
    out: &mut String,
) {
    for (text, url) in texts(chart) {
        let checked = match cache.validate((text, url), values, budget) {
            Some(checked) => checked,
            None => read_schema(text, url)
                .and_then(|schema| check_document(values, schema, url, read, log, budget)),
        };
        if let Err(violations) = checked {
            out.push_str(chart.name());
            out.push_str(":\n");
            out.push_str(&violations);
        }
    }
    for subchart in &chart.subcharts {
        match values.get(subchart.name()) {
            // A subchart without values is not validated, even if its schema requires some.
            None | Some(Node::Nil) => {}
            Some(values @ Node::Map(_)) => check_chart(subchart, values, cache, read, log, budget, out),
            Some(other) => {
                let found = go_format::go_type(other);
                let name = subchart.name();
                out.push_str(&format!(
                    "{name}:\ninvalid type for values: expected object (map), got {found}\n"
                ));
            }
        }
    }
}

/// Validates values against the text of one JSON schema.
///
/// # Errors
/// The violations, one per line, or what is wrong with the schema.
pub fn check_json(
    values: &Node,
    schema: &[u8],
    read: &mut ReadSource<'_>,
    log: &mut Vec<LogLine>,
) -> std::result::Result<(), String> {
    check_document(values, read_schema(schema, JSON_URL)?, JSON_URL, read, log, &Budget::new())
}

/// Validates values against the text of one YAML schema.
///
/// # Errors
/// Like [`check_json`].
pub fn check_yaml(
    values: &Node,
    schema: &[u8],
    read: &mut ReadSource<'_>,
    log: &mut Vec<LogLine>,
) -> std::result::Result<(), String> {
    check_document(values, read_schema(schema, YAML_URL)?, YAML_URL, read, log, &Budget::new())
}

/// The schemas of a chart, with their names in messages.
fn texts(chart: &Chart) -> impl Iterator<Item = (&Str, &'static str)> {
    let json = chart.schema.iter().map(|text| (text, JSON_URL));
    json.chain(chart.schema_yaml.iter().map(|text| (text, YAML_URL)))
}

fn read_schema(text: &[u8], url: &str) -> std::result::Result<Doc, String> {
    match url {
        YAML_URL => Doc::read(&pintle_yaml::to_json(text).map_err(|error| error.to_string())?),
        _ => Doc::read(text),
    }
}

fn check_document(
    values: &Node,
    schema: Doc,
    url: &str,
    read: &mut ReadSource<'_>,
    log: &mut Vec<LogLine>,
    budget: &Budget,
) -> std::result::Result<(), String> {
    let failures = match Lazy::new(&schema, url, budget) {
        Some(lazy) => validate::failures(&lazy, values, budget),
        None => {
            let compiled = Compiler::new(read, log, budget).with(url, schema).compile(url)?;
            validate::failures(&compiled, values, budget)
        }
    };
    to_result(failures)
}

fn to_result(failures: Option<String>) -> std::result::Result<(), String> {
    match failures {
        None => Ok(()),
        Some(lines) => Err(format!("{lines}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(schema: &str, values: &str) -> String {
        let values = pintle_tree::json::read(values.as_bytes()).unwrap();
        let mut read = |path: &str| Err(format!("open {path}: no such file or directory"));
        check_json(&values, schema.as_bytes(), &mut read, &mut Vec::new()).err().unwrap_or_default()
    }

    #[test]
    fn failures_are_reported_as_a_tree() {
        let schema = r##"{"properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/definitions/n"}]}},
            "definitions":{"n":{"minimum":5,"multipleOf":2}},"required":["b"]}"##;
        let expected = "- at '': missing property 'b'\n- at '/a': 'anyOf' failed\n  - at '/a': got number, want string\n\
            \u{20} - at '/a': validation failed\n    - at '/a': minimum: got 3, want 5\n    - at '/a': multipleOf: got 3, want 2\n";
        assert_eq!(checked(schema, r#"{"a":3}"#), expected);
    }

    #[test]
    fn references_to_the_network_are_read_by_their_url() {
        let message = checked(r#"{"$ref":"https://example.com/x.json#/a"}"#, "{}");
        assert_eq!(
            message,
            "failing loading \"https://example.com/x.json\": open https://example.com/x.json: no such file or directory"
        );
        let mut read = |url: &str| match url {
            "https://example.com/x.json" => Ok(br#"{"type":"string"}"#.to_vec()),
            _ => Err("nothing".to_owned()),
        };
        let schema = br#"{"properties":{"a":{"$ref":"https://example.com/x.json"}}}"#;
        let values = pintle_tree::json::read(br#"{"a":1}"#).unwrap();
        let message = check_json(&values, schema, &mut read, &mut Vec::new()).unwrap_err();
        assert_eq!(message, "- at '/a': got number, want string\n");
        assert_eq!(checked(r#"{"$ref":"urn:example:x"}"#, "{}"), "");
    }

    #[test]
    fn long_lists_are_checked_for_duplicates_in_one_pass() {
        let list = |last: u32| {
            let numbers: Vec<String> = (0..20_000).chain([last]).map(|number| number.to_string()).collect();
            format!(r#"{{"a":[{}]}}"#, numbers.join(","))
        };
        let schema = r#"{"properties":{"a":{"uniqueItems":true}}}"#;
        assert_eq!(checked(schema, &list(20_000)), "");
        assert_eq!(checked(schema, &list(7)), "- at '/a': items at 7 and 20,000 are equal\n");
    }

    #[test]
    fn a_long_list_of_choices_is_not_repeated_without_end() {
        let choices: Vec<String> = (0..20_000).map(|number| format!(r#""word-{number}""#)).collect();
        let schema = format!(r#"{{"properties":{{"a":{{"items":{{"enum":[{}]}}}}}}}}"#, choices.join(","));
        let values = format!(r#"{{"a":[{}]}}"#, vec![r#""x""#; 10_000].join(","));
        let message = checked(&schema, &values);
        assert!(message.contains("value must be one of 'word-0'"), "{}", message.len());
        assert!(message.len() < 32 << 20, "{}", message.len());
    }

    #[test]
    fn patterns_end_at_the_limit() {
        let long = format!(r#"{{"a":"{}"}}"#, "ab".repeat(1 << 20));
        let pattern = r#"{"properties":{"a":{"pattern":"(a|b)*a(a|b){500}c"}}}"#;
        assert!(checked(pattern, &long).contains("too complex"));
        assert_eq!(checked(r#"{"properties":{"a":{"pattern":"^(ab)+$"}}}"#, &long), "");
        let large: Vec<String> = (0..20).map(|index| format!(r#""{index}\\pL{{1000}}":{{}}"#)).collect();
        let schema = format!(r#"{{"patternProperties":{{{}}}}}"#, large.join(","));
        assert!(checked(&schema, "{}").contains("too large together"));
    }

    #[test]
    fn the_schemas_of_all_charts_share_one_budget() {
        let mut definitions = String::from(r#""d0":{"type":"object"}"#);
        for index in 1..16 {
            let reference = format!(r##"{{"$ref":"#/definitions/d{}"}}"##, index - 1);
            definitions.push_str(&format!(r#","d{index}":{{"allOf":[{reference},{reference}]}}"#));
        }
        let schema = format!(r##"{{"$ref":"#/definitions/d15","definitions":{{{definitions}}}}}"##);
        let values = Node::Map(pintle_tree::Map::new());
        let (budget, mut log) = (Budget::new(), Vec::new());
        let mut read = |path: &str| Err(format!("open {path}: no such file or directory"));
        let mut check = || {
            let schema = read_schema(schema.as_bytes(), JSON_URL)?;
            check_document(&values, schema, JSON_URL, &mut read, &mut log, &budget)
        };
        assert_eq!(check(), Ok(()));
        let message = (0..100).find_map(|_| check().err());
        assert!(message.is_some_and(|message| message.contains("too complex")));
    }

    #[test]
    fn schemas_made_to_take_forever_end() {
        let mut definitions = String::from(r#""d0":{"type":"object"}"#);
        for index in 1..64 {
            let reference = format!(r##"{{"$ref":"#/definitions/d{}"}}"##, index - 1);
            definitions.push_str(&format!(r#","d{index}":{{"allOf":[{reference},{reference}]}}"#));
        }
        let schema = format!(r##"{{"$ref":"#/definitions/d63","definitions":{{{definitions}}}}}"##);
        assert!(checked(&schema, "{}").contains("too complex"));
        let deep = format!("{}true{}", r#"{"not":"#.repeat(2000), "}".repeat(2000));
        assert!(!checked(&deep, "{}").is_empty());
    }
}
