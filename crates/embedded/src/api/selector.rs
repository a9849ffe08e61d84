//! Label and field selectors.

use pintle_tree::{Node, Str};

use crate::schema::Kind;
use crate::status::Status;
use crate::store::{IndexHint, Object, ObjectMeta, key};

/// One requirement of a label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
    Greater(String, i64),
    Less(String, i64),
}

/// One requirement of a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    path: String,
    value: String,
    equal: bool,
}

/// A label selector and a field selector, both of which must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

impl Selector {
    /// Parses the selectors of a request. `own` are the selectable fields of a custom resource.
    pub(super) fn parse(
        labels: &str,
        fields: &str,
        kind: &Kind<'_>,
        own: &[String],
    ) -> Result<Selector, Status> {
        let labels = label_requirements(labels)
            .map_err(|error| Status::bad_request(format!("unable to parse requirement: {error}")))?;
        let fields = field_requirements(fields, kind, own)?;
        Ok(Selector { labels, fields })
    }

    /// Restricts the selector to one name, as in a watch of a single object.
    pub(super) fn and_name(mut self, name: &str) -> Selector {
        let (path, value) = ("metadata.name".to_owned(), name.to_owned());
        self.fields.push(FieldRequirement { path, value, equal: true });
        self
    }

    /// Whether it selects everything.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns how the index can narrow the search. The argument is [`Call::scope`].
    pub(super) fn index_hint(&self, (kind, namespace): &(String, Option<&str>)) -> IndexHint {
        let is_name = |it: &&FieldRequirement| it.path == "metadata.name" && it.equal;
        if let (Some(namespace), Some(name)) = (*namespace, self.fields.iter().find(is_name)) {
            return IndexHint::Key(key(kind, namespace, &name.value));
        }
        let pair = |requirement: &Requirement| match requirement {
            Requirement::In(key, values) => match values.as_slice() {
                [value] => Some((Str::from(key.as_str()), Str::from(value.as_str()))),
                _ => None,
            },
            _ => None,
        };
        // Only a hint: every object that the index finds is still matched against the whole selector.
        let pairs: Vec<(Str, Str)> = self.labels.iter().filter_map(pair).collect();
        if pairs.is_empty() { IndexHint::Nothing } else { IndexHint::Labels(pairs) }
    }

    pub(super) fn matches(&self, object: &Object) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(&object.meta)) && self.matches_fields(object)
    }

    fn matches_fields(&self, object: &Object) -> bool {
        let key = object.key.to_str_lossy();
        let mut names = key.split('/').skip(1);
        let (namespace, name) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        // Parsed at most once, and only for fields other than name and namespace, which are in the key.
        let mut tree = None;
        self.fields.iter().all(|requirement| {
            let equal = match requirement.path.as_str() {
                "metadata.name" => requirement.value == name,
                "metadata.namespace" => requirement.value == namespace,
                path => field(tree.get_or_insert_with(|| object.node()), path) == requirement.value,
            };
            equal == requirement.equal
        })
    }
}

/// The value of a field for comparison: absent fields have the zero value of their type.
fn field(object: &Node, path: &str) -> String {
    let found = path.split('.').try_fold(object, |node, step| node.get(step));
    match found {
        Some(Node::Str(text)) => text.to_string(),
        Some(Node::Bool(value)) => value.to_string(),
        Some(Node::Int(value)) => value.to_string(),
        _ => match path {
            // These are `omitempty` in JSON, while the server compares the fields of Go structs.
            "spec.unschedulable" | "spec.hostNetwork" => "false".to_owned(),
            "status.replicas" | "status.successful" => "0".to_owned(),
            "source" => field(object, "source.component"),
            _ => String::new(),
        },
    }
}

impl Requirement {
    fn matches(&self, head: &ObjectMeta) -> bool {
        let value = |key: &str| head.label(key).and_then(|value| value.as_str());
        let number = |key: &str| value(key).and_then(|value| value.parse::<i64>().ok());
        match self {
            Requirement::In(key, values) => {
                value(key).is_some_and(|value| values.iter().any(|it| it == value))
            }
            Requirement::NotIn(key, values) => {
                value(key).is_none_or(|value| values.iter().all(|it| it != value))
            }
            Requirement::Exists(key) => head.label(key).is_some(),
            Requirement::Absent(key) => head.label(key).is_none(),
            Requirement::Greater(key, bound) => number(key).is_some_and(|value| value > *bound),
            Requirement::Less(key, bound) => number(key).is_some_and(|value| value < *bound),
        }
    }
}

/// The selectable fields besides `metadata.name` and `metadata.namespace`.
fn selectable(kind: &Kind<'_>) -> &'static [&'static str] {
    match (kind.resource.group.as_str().unwrap_or_default(), kind.resource.kind.as_str().unwrap_or_default())
    {
        ("", "Pod") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "Node") => &["spec.unschedulable"],
        ("", "ReplicationController") => &["status.replicas"],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("batch", "Job") => &["status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest") => &["spec.signerName"],
        _ => &[],
    }
}

fn field_requirements(text: &str, kind: &Kind<'_>, own: &[String]) -> Result<Vec<FieldRequirement>, Status> {
    let mut found = Vec::new();
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let split = |sign: &str| term.split_once(sign);
        // `!=` first, as it contains `=`.
        let (path, value, equal) = match (split("!="), split("=="), split("=")) {
            (Some((path, value)), _, _) => (path, value, false),
            (_, Some((path, value)), _) | (_, _, Some((path, value))) => (path, value, true),
            _ => {
                let message = format!("invalid selector: '{text}'; can't understand '{term}'");
                return Err(Status::bad_request(message));
            }
        };
        let common = matches!(path, "metadata.name" | "metadata.namespace");
        if !common && !selectable(kind).contains(&path) && !own.iter().any(|field| field == path) {
            return Err(Status::bad_request(unknown_field(path, kind)));
        }
        found.push(FieldRequirement { path: path.to_owned(), value: value.to_owned(), equal });
    }
    Ok(found)
}

fn unknown_field(path: &str, kind: &Kind<'_>) -> String {
    if kind.resource.kind == "Job" {
        format!("field label {path:?} not supported for Job")
    } else if kind.custom || !selectable(kind).is_empty() {
        format!("field label not supported: {path}")
    } else {
        format!(r#""{path}" is not a known field selector: only "metadata.name", "metadata.namespace""#)
    }
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let special = matches!(letter, '=' | '!' | '(' | ')' | ',' | '<' | '>');
        if special || letter.is_whitespace() {
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            if !special {
                continue;
            }
            let mut sign = letter.to_string();
            if matches!(letter, '=' | '!') && letters.next_if_eq(&'=').is_some() {
                sign.push('=');
            }
            tokens.push(sign);
        } else {
            word.push(letter);
        }
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<String>>,
}

fn label_requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { tokens: tokens(text).into_iter().peekable() };
    let mut found = Vec::new();
    if parser.tokens.peek().is_none() {
        return Ok(found);
    }
    loop {
        found.push(parser.requirement()?);
        match parser.tokens.next().as_deref() {
            None => return Ok(found),
            Some(",") => match parser.tokens.peek() {
                Some(next) if is_word(next) || next == "!" => {}
                other => {
                    let other = other.cloned().unwrap_or_default();
                    return Err(format!("found '{other}', expected: identifier after ','"));
                }
            },
            Some(other) => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
        }
    }
}

fn is_word(token: &str) -> bool {
    !matches!(token, "=" | "==" | "!=" | "!" | "(" | ")" | "," | "<" | ">")
}

impl Parser {
    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.tokens.next_if(|token| token == "!").is_some();
        let key = self.tokens.next().unwrap_or_default();
        if !is_word(&key) || key.is_empty() {
            return Err(format!("found '{key}', expected: !, identifier, or 'end of string'"));
        }
        check_key(&key)?;
        if negated {
            return Ok(Requirement::Absent(key));
        }
        match self.tokens.peek().map(String::as_str) {
            None | Some(",") => return Ok(Requirement::Exists(key)),
            _ => {}
        }
        let sign = self.tokens.next().unwrap_or_default();
        match sign.as_str() {
            "=" | "==" => Ok(Requirement::In(key.clone(), vec![self.value(&key)?])),
            "!=" => Ok(Requirement::NotIn(key.clone(), vec![self.value(&key)?])),
            "in" => Ok(Requirement::In(key.clone(), self.values(&key)?)),
            "notin" => Ok(Requirement::NotIn(key.clone(), self.values(&key)?)),
            ">" | "<" => {
                let value = self.value(&key)?;
                let bound = value.parse().map_err(|_| {
                    format!("values[0][{key}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
                })?;
                Ok(if sign == ">" { Requirement::Greater(key, bound) } else { Requirement::Less(key, bound) })
            }
            other => Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    /// A value, which may be empty.
    fn value(&mut self, key: &str) -> Result<String, String> {
        let value = match self.tokens.peek().map(String::as_str) {
            // `app=` selects objects whose label is empty.
            None | Some(",") => String::new(),
            Some(word) if is_word(word) => self.tokens.next().unwrap_or_default(),
            Some(other) => return Err(format!("found '{other}', expected: identifier")),
        };
        check_value(key, 0, &value)?;
        Ok(value)
    }

    /// The values in parentheses.
    fn values(&mut self, key: &str) -> Result<Vec<String>, String> {
        let open = self.tokens.next().unwrap_or_default();
        if open != "(" {
            return Err(format!("found '{open}' expected: '('"));
        }
        let mut values = Vec::new();
        loop {
            match self.tokens.next().as_deref() {
                Some(")") => return Ok(values),
                Some(",") => {}
                Some(word) if is_word(word) => {
                    check_value(key, values.len(), word)?;
                    values.push(word.to_owned());
                    match self.tokens.peek().map(String::as_str) {
                        Some("," | ")") => {}
                        other => {
                            return Err(format!(
                                "found '{}', expected: ',' or ')'",
                                other.unwrap_or_default()
                            ));
                        }
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', or identifier",
                        other.unwrap_or_default()
                    ));
                }
            }
        }
    }
}

/// A label value: alphanumeric at both ends, with `-`, `_` and `.` inside.
fn is_label_word(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| inner(*byte))
        && bytes.first().is_none_or(u8::is_ascii_alphanumeric)
        && bytes.last().is_none_or(u8::is_ascii_alphanumeric)
}

fn check_value(key: &str, index: usize, value: &str) -> Result<(), String> {
    let complaint = if value.len() > 63 {
        "must be no more than 63 bytes"
    } else if !is_label_word(value) {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    } else {
        return Ok(());
    };
    Err(format!("values[{index}][{key}]: Invalid value: {value:?}: {complaint}"))
}

fn check_key(key: &str) -> Result<(), String> {
    let name = key.rsplit('/').next().unwrap_or_default();
    if is_label_word(name) && !name.is_empty() && name.len() <= 63 {
        return Ok(());
    }
    Err(format!(
        "key: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let head = ObjectMeta { labels, ..ObjectMeta::default() };
        label_requirements(selector).unwrap().iter().all(|requirement| requirement.matches(&head))
    }

    #[test]
    fn label_requirements_compare_values_sets_and_numbers() {
        let labels = [("app", "x"), ("tier", "2"), ("empty", "")];
        for yes in [
            "",
            "app=x",
            "app==x,tier",
            "tier in (1,2)",
            "no notin (a)",
            "!no",
            "tier>1",
            "tier<3",
            "empty=",
            "app!=y",
        ] {
            assert!(selects(yes, &labels), "{yes}");
        }
        for no in ["app=y", "no", "!app", "tier in (1)", "app notin (x)", "tier>2", "app>1"] {
            assert!(!selects(no, &labels), "{no}");
        }
    }

    #[test]
    fn invalid_selectors_are_rejected() {
        for text in ["a b", "a=b c", "a in b", "a in (b", ",", "a,", "!", "=x", "a=(", "a>x"] {
            assert!(label_requirements(text).is_err(), "{text}");
        }
    }
}
