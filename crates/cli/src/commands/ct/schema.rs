//! Schemas of Chart.yaml in the language of yamale: `key: str(required=False)`, with `include('name')` for parts.

use pintle_tree::{Map, Node};

/// The fields of Chart.yaml, unless there is a chart_schema.yaml.
const OF_CHARTS: &str = "\
{apiVersion: str(), name: str(), version: str(), description: str(required=False), type: str(required=False), \
appVersion: 'any(str(), num(), required=False)', kubeVersion: str(required=False), keywords: 'list(str(), required=False)', \
home: str(required=False), sources: 'list(str(), required=False)', icon: str(required=False), engine: str(required=False), \
condition: str(required=False), tags: str(required=False), deprecated: bool(required=False), \
annotations: 'map(str(), str(), required=False)', maintainers: \"list(include('maintainer'), required=False)\", \
dependencies: \"list(include('dependency'), required=False)\"}
---
maintainer: {name: str(), email: str(required=False), url: str(required=False)}
---
dependency: {name: str(), version: str(), repository: str(required=False), alias: str(required=False), \
condition: str(required=False), tags: 'list(str(), required=False)', enabled: bool(required=False), \
import-values: \"list(any(str(), include('import-value')), required=False)\"}
---
import-value: {child: str(), parent: str()}
";

/// The validators of yamale that are built in.
const SUPPORTED: [&str; 10] = ["any", "bool", "enum", "include", "int", "list", "map", "null", "num", "str"];

/// A schema, with the parts that it includes.
pub(super) struct Schema {
    fields: Map<Node>,
    parts: Map<Node>,
}

/// An expression such as `list(str(), required=False)`.
#[derive(Debug, PartialEq)]
struct Validator {
    name: String,
    arguments: Vec<Argument>,
}

#[derive(Debug, PartialEq)]
enum Argument {
    Validator(Validator),
    Literal(String),
    Option(String, String),
}

impl Schema {
    pub(super) fn of_charts() -> Result<Self, String> {
        Self::read(OF_CHARTS.as_bytes())
    }

    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let documents = pintle_yaml::read_documents(text).map_err(|error| error.to_string())?;
        let mut maps = documents.into_iter().filter_map(|document| match document {
            Node::Map(map) => Some(map),
            _ => None,
        });
        let fields = maps.next().ok_or("the schema is empty")?;
        let mut parts = Map::new();
        for map in maps {
            for (name, part) in map.iter() {
                parts.insert(name.clone(), part.clone());
            }
        }
        Ok(Schema { fields, parts })
    }

    /// The problems of a text.
    pub(super) fn check(&self, text: &[u8]) -> Vec<String> {
        let mut errors = Vec::new();
        match pintle_yaml::read_map(text) {
            Ok(map) => self.check_map(&self.fields, &map, "", &mut errors),
            Err(error) => errors.push(error.to_string()),
        }
        errors
    }

    fn check_map(&self, fields: &Map<Node>, map: &Map<Node>, path: &str, errors: &mut Vec<String>) {
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        for key in map.keys().filter(|key| fields.get(key).is_none()) {
            errors.push(format!("{}: Unexpected element", below(&key.to_str_lossy())));
        }
        for (key, schema) in fields.iter() {
            let path = below(&key.to_str_lossy());
            match (schema, map.get(key)) {
                (Node::Map(fields), Some(Node::Map(map))) => self.check_map(fields, map, &path, errors),
                (Node::Map(_), Some(_)) => errors.push(format!("{path}: is not a map")),
                (schema, value) => match Validator::parse(schema.as_str().unwrap_or_default()) {
                    Some(validator) if validator.unsupported().is_some() => {
                        let what = validator.unsupported().unwrap_or_default();
                        errors.push(format!("{path}: the schema uses `{what}`, which is not supported"));
                    }
                    Some(validator) => match value {
                        None | Some(Node::Nil) if !validator.is_required() => {}
                        None => errors.push(format!("{path}: Required field missing")),
                        Some(value) => self.check_value(&validator, value, &path, errors),
                    },
                    None => errors.push(format!("{path}: the schema is invalid")),
                },
            }
        }
    }

    fn check_value(&self, validator: &Validator, value: &Node, path: &str, errors: &mut Vec<String>) {
        let mut wrong = |is_right: bool, kind: &str| {
            if !is_right {
                errors.push(format!("{path}: '{}' is not a {kind}.", python_text(value)));
            }
        };
        match (validator.name.as_str(), value) {
            ("str", value) => wrong(matches!(value, Node::Str(_)), "str"),
            ("num", value) => wrong(matches!(value, Node::Int(_) | Node::Float(_)), "num"),
            ("int", value) => {
                let is_whole = |number: &f64| number.fract() == 0.0;
                wrong(
                    matches!(value, Node::Int(_)) || matches!(value, Node::Float(number) if is_whole(number)),
                    "int",
                );
            }
            ("bool", value) => wrong(matches!(value, Node::Bool(_)), "bool"),
            ("null", value) => wrong(value.is_nil(), "null"),
            ("enum", value) => {
                let text = python_text(value);
                let allowed = validator.literals();
                if !allowed.contains(&text) {
                    errors.push(format!("{path}: '{text}' not in ({})", allowed.join(", ")));
                }
            }
            ("list", Node::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.check_any(&validator.validators(), item, &format!("{path}.{index}"), errors);
                }
            }
            ("map", Node::Map(entries)) => {
                let values = validator.validators();
                // With two validators, the first is for keys.
                let values = if values.len() > 1 { &values[1..] } else { &values[..] };
                for (key, value) in entries.iter() {
                    self.check_any(values, value, &format!("{path}.{key}"), errors);
                }
            }
            ("list" | "map", _) => wrong(false, &validator.name),
            ("any", value) => self.check_any(&validator.validators(), value, path, errors),
            ("include", value) => {
                let part = validator.literals().first().and_then(|name| self.parts.get(name));
                match (part, value) {
                    (Some(Node::Map(fields)), Node::Map(map)) => self.check_map(fields, map, path, errors),
                    (Some(Node::Map(_)), _) => wrong(false, "map"),
                    _ => errors.push(format!("{path}: the schema includes a part that it does not have")),
                }
            }
            _ => {}
        }
    }

    /// One of the validators accepts the value; without any, everything is accepted.
    fn check_any(&self, validators: &[&Validator], value: &Node, path: &str, errors: &mut Vec<String>) {
        let mut all = Vec::new();
        for validator in validators {
            let mut found = Vec::new();
            self.check_value(validator, value, path, &mut found);
            if found.is_empty() {
                return;
            }
            all.extend(found);
        }
        errors.extend(all);
    }
}

impl Validator {
    fn parse(text: &str) -> Option<Validator> {
        let (validator, rest) = Self::parse_prefix(text.trim())?;
        rest.trim().is_empty().then_some(validator)
    }

    fn parse_prefix(text: &str) -> Option<(Validator, &str)> {
        let (name, mut rest) = text.split_once('(')?;
        let mut arguments = Vec::new();
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(after) = rest.strip_prefix(')') {
                return Some((Validator { name: name.trim().to_owned(), arguments }, after));
            }
            if let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '\'' | '"')) {
                let (literal, after) = rest[1..].split_once(quote)?;
                arguments.push(Argument::Literal(literal.to_owned()));
                rest = after;
                continue;
            }
            let end = rest.find([',', ')', '(', '='])?;
            match rest.as_bytes()[end] {
                b'(' => {
                    let (validator, after) = Self::parse_prefix(rest)?;
                    arguments.push(Argument::Validator(validator));
                    rest = after;
                }
                b'=' => {
                    let value_end = end + 1 + rest[end + 1..].find([',', ')'])?;
                    let value = rest[end + 1..value_end].trim().trim_matches(['\'', '"']);
                    arguments.push(Argument::Option(rest[..end].trim().to_owned(), value.to_owned()));
                    rest = &rest[value_end..];
                }
                _ => {
                    arguments.push(Argument::Literal(rest[..end].trim().to_owned()));
                    rest = &rest[end..];
                }
            }
        }
    }

    /// A validator or option in it that is not known. Accepting what it may reject would hide problems.
    fn unsupported(&self) -> Option<&str> {
        if !SUPPORTED.contains(&self.name.as_str()) {
            return Some(&self.name);
        }
        self.arguments.iter().find_map(|argument| match argument {
            Argument::Validator(validator) => validator.unsupported(),
            Argument::Option(name, _) => (name != "required").then_some(name.as_str()),
            Argument::Literal(_) => None,
        })
    }

    fn is_required(&self) -> bool {
        !self.arguments.iter().any(|argument| {
            matches!(argument, Argument::Option(name, value) if name == "required" && value == "False")
        })
    }

    fn validators(&self) -> Vec<&Validator> {
        let nested = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Validator(validator) => Some(validator),
            _ => None,
        });
        nested.collect()
    }

    fn literals(&self) -> Vec<String> {
        let literals = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Literal(text) => Some(text.clone()),
            _ => None,
        });
        literals.collect()
    }
}

/// A value as Python prints it.
fn python_text(value: &Node) -> String {
    match value {
        Node::Nil => "None".to_owned(),
        Node::Bool(true) => "True".to_owned(),
        Node::Bool(false) => "False".to_owned(),
        Node::Int(number) => number.to_string(),
        Node::Float(number) => number.to_string(),
        Node::Str(text) => text.to_str_lossy().into_owned(),
        Node::List(_) => "list".to_owned(),
        Node::Map(_) => "map".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_schema_knows_the_fields_of_charts() {
        let schema = Schema::of_charts().expect("a schema");
        let good = "apiVersion: v2\nname: a\nversion: 1.0.0\nmaintainers: [{name: x}]\ndependencies: [{name: d, version: '1', import-values: [a, {child: b, parent: c}]}]\n";
        assert_eq!(schema.check(good.as_bytes()), Vec::<String>::new());
        let bad = "apiVersion: v2\nversion: 1.0.0\nfoo: 1\nappVersion: true\nmaintainers: [{name: 5}]\n";
        assert_eq!(
            schema.check(bad.as_bytes()),
            [
                "foo: Unexpected element",
                "appVersion: 'True' is not a str.",
                "appVersion: 'True' is not a num.",
                "maintainers.0.name: '5' is not a str.",
                "name: Required field missing",
            ]
        );
    }

    #[test]
    fn validators_that_are_not_built_in_are_reported() {
        let schema = Schema::read(b"a: list(regex('x'))\nb: str(min=3, required=False)\n").expect("a schema");
        assert_eq!(
            schema.check(b"a: [y]\n"),
            [
                "a: the schema uses `regex`, which is not supported",
                "b: the schema uses `min`, which is not supported",
            ]
        );
    }

    #[test]
    fn validators_nest() {
        let validator =
            Validator::parse("list(any(str(), include('x')), required=False)").expect("an expression");
        assert!(!validator.is_required());
        assert_eq!(validator.validators()[0].validators()[1].literals(), ["x"]);
        assert_eq!(Validator::parse("str("), None);
    }
}
