//! The configuration file.
//!
//! ```yaml
//! kubernetesVersions: ["1.34", "1.36"]
//! strict: true
//! ignoreMissingSchemas: true
//! schemaLocations: [schemas]
//! rules:
//!   minimum-replicas: warning     # enables a rule
//!   latest-tag: off
//! ignore:
//!   - rule: run-as-non-root
//!     file: templates/legacy/*
//!     kind: DaemonSet
//!     reason: needs the host
//! ```

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, Str};

use crate::finding::Finding;
use crate::rule::{RULES, Rule, Severity, rule};

/// A configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The Kubernetes versions to check for; none for the default of the program.
    pub kubernetes_versions: Vec<String>,
    /// Whether unknown fields and duplicate keys are errors.
    pub strict: Option<bool>,
    /// Whether objects without a schema are skipped.
    pub ignore_missing_schemas: Option<bool>,
    /// Where to look for schemas, as kubeconform's `-schema-location`.
    pub schema_locations: Vec<String>,
    /// The severities of rules, where they differ from the default; `None` turns a rule off.
    severities: BTreeMap<&'static str, Option<Severity>>,
    ignores: Vec<Ignore>,
}

/// An entry of `ignore`: all conditions that are given must hold.
#[derive(Clone, Debug, Default)]
struct Ignore {
    rule: Option<&'static Rule>,
    file: Option<String>,
    kind: Option<String>,
    name: Option<String>,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ConfigError {
    /// The field, as in `rules.latest-tag`.
    path: String,
    message: String,
}

type Checked<T> = Result<T, ConfigError>;

fn wrong<T>(path: impl Into<String>, message: impl Into<String>) -> Checked<T> {
    Err(ConfigError { path: path.into(), message: message.into() })
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// When it is not YAML, or has unknown fields or invalid values.
    pub fn read(text: &[u8]) -> Checked<Self> {
        let map = match pintle_yaml::read_strict(text) {
            Ok(Node::Map(map)) => map,
            Ok(Node::Nil) => Map::new(),
            Ok(other) => return wrong("configuration", format!("must be a map, not {}", other.json_type())),
            Err(error) => return wrong("configuration", error.to_string()),
        };
        let mut config = Config::default();
        for (key, value) in map.iter() {
            let key = key.to_str_lossy();
            match &*key {
                "kubernetesVersions" => config.kubernetes_versions = texts(&key, value)?,
                "schemaLocations" => config.schema_locations = texts(&key, value)?,
                "strict" => config.strict = Some(flag(&key, value)?),
                "ignoreMissingSchemas" => config.ignore_missing_schemas = Some(flag(&key, value)?),
                "rules" => config.severities = severities(value)?,
                "ignore" => config.ignores = ignores(value)?,
                other => {
                    let known = [
                        "kubernetesVersions",
                        "schemaLocations",
                        "strict",
                        "ignoreMissingSchemas",
                        "rules",
                        "ignore",
                    ];
                    return wrong(other, unknown("key", other, &known));
                }
            }
        }
        Ok(config)
    }

    /// Changes the severity of a rule: `rule=severity`, or `rule=off`.
    ///
    /// # Errors
    /// When there is no such rule or severity.
    pub fn set(&mut self, assignment: &str) -> Checked<()> {
        let Some((name, severity)) = assignment.split_once('=') else {
            return wrong(assignment, "must be RULE=SEVERITY, with info, warning, error or off");
        };
        let (rule, severity) = (known_rule(name, name)?, severity_named(name, severity)?);
        self.severities.insert(rule.name, severity);
        Ok(())
    }

    /// The severity of a rule; `None` if it does not apply.
    pub fn severity(&self, rule: &Rule) -> Option<Severity> {
        self.severities.get(rule.name).copied().unwrap_or(rule.severity)
    }

    /// Whether an entry of `ignore` covers a finding.
    pub(crate) fn ignores(&self, finding: &Finding) -> bool {
        self.ignores.iter().any(|ignore| ignore.covers(finding))
    }
}

impl Ignore {
    fn covers(&self, finding: &Finding) -> bool {
        let fits = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found.is_some_and(|found| matches(wanted, found)))
        };
        let object = finding.object.as_ref();
        self.rule.is_none_or(|rule| rule == finding.rule)
            && fits(&self.file, finding.location.as_ref().map(|location| location.file.as_str()))
            && fits(&self.kind, object.map(|object| object.kind.as_str()))
            && fits(&self.name, object.map(|object| object.name.as_str()))
    }
}

/// Whether a text matches a pattern, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn unknown(what: &str, found: &str, known: &[&str]) -> String {
    match pintle_tree::suggest::suggest(found, known) {
        Some(near) => format!("unknown {what}; did you mean {near:?}?"),
        None => format!("unknown {what}"),
    }
}

fn known_rule(path: &str, name: &str) -> Checked<&'static Rule> {
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    rule(name).map_or_else(|| wrong(path, unknown("rule", name, &names)), Ok)
}

fn severity_named(path: &str, name: &str) -> Checked<Option<Severity>> {
    match name {
        "off" => Ok(None),
        name => match Severity::by_name(name) {
            Some(severity) => Ok(Some(severity)),
            None => wrong(path, format!("{name:?} is not info, warning, error or off")),
        },
    }
}

fn severities(value: &Node) -> Checked<BTreeMap<&'static str, Option<Severity>>> {
    let Some(map) = value.as_map() else { return wrong("rules", "must be a map of rules to severities") };
    let mut severities = BTreeMap::new();
    for (name, value) in map.iter() {
        let name = name.to_str_lossy();
        let path = format!("rules.{name}");
        let severity = match value {
            // `off` is a boolean in YAML 1.1.
            Node::Bool(false) => None,
            Node::Str(text) => severity_named(&path, &text.to_str_lossy())?,
            _ => return wrong(path, "must be info, warning, error or off"),
        };
        severities.insert(known_rule(&path, &name)?.name, severity);
    }
    Ok(severities)
}

fn ignores(value: &Node) -> Checked<Vec<Ignore>> {
    let Some(list) = value.as_list() else { return wrong("ignore", "must be a list") };
    let mut ignores = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let path = format!("ignore[{index}]");
        let Some(map) = entry.as_map() else { return wrong(path, "must be a map") };
        let mut ignore = Ignore::default();
        for (key, value) in map.iter() {
            let key = key.to_str_lossy();
            let path = format!("{path}.{key}");
            let Some(text) = value.as_text().and_then(Str::as_str) else {
                return wrong(path, "must be text");
            };
            match &*key {
                "rule" => ignore.rule = Some(known_rule(&path, text)?),
                "file" => ignore.file = Some(text.to_owned()),
                "kind" => ignore.kind = Some(text.to_owned()),
                "name" => ignore.name = Some(text.to_owned()),
                "reason" => {}
                other => {
                    return wrong(path, unknown("key", other, &["rule", "file", "kind", "name", "reason"]));
                }
            }
        }
        ignores.push(ignore);
    }
    Ok(ignores)
}

fn flag(path: &str, value: &Node) -> Checked<bool> {
    value.as_bool().map_or_else(|| wrong(path, "must be true or false"), Ok)
}

fn texts(path: &str, value: &Node) -> Checked<Vec<String>> {
    let Some(list) = value.as_list() else { return wrong(path, "must be a list of texts") };
    let text = |(index, item): (usize, &Node)| match item.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => wrong(format!("{path}[{index}]"), "must be text; versions need quotes"),
    };
    list.iter().enumerate().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_enabled_changed_and_turned_off() {
        let text = b"rules: {minimum-replicas: warning, latest-tag: off, schema: info}\nstrict: true\n";
        let config = Config::read(text).unwrap();
        let severity = |name: &str| config.severity(rule(name).unwrap());
        assert_eq!(severity("minimum-replicas"), Some(Severity::Warning));
        assert_eq!(severity("latest-tag"), None);
        assert_eq!(severity("schema"), Some(Severity::Info));
        assert_eq!(severity("removed-api"), Some(Severity::Error));
        assert_eq!(config.strict, Some(true));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, message) in [
            ("rules: {latest-tags: off}", "rules.latest-tags: unknown rule; did you mean \"latest-tag\"?"),
            ("rules: {latest-tag: bad}", "rules.latest-tag: \"bad\" is not info, warning, error or off"),
            ("strikt: true", "strikt: unknown key; did you mean \"strict\"?"),
            ("kubernetesVersions: [1.34]", "kubernetesVersions[0]: must be text; versions need quotes"),
            ("ignore: [{kinds: A}]", "ignore[0].kinds: unknown key; did you mean \"kind\"?"),
        ] {
            assert_eq!(Config::read(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, fits) in [
            ("templates/*", "templates/a/b.yaml", true),
            ("*/b.yaml", "templates/a/b.yaml", true),
            ("t*a*", "templates/a/b.yaml", true),
            ("templates/a", "templates/ab", false),
            ("*x*", "templates", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
