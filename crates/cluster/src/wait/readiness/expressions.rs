//! Readiness that a chart defines itself, by the annotations of HIP-0025: expressions over the status of an object.

use std::cmp::Ordering;

use pintle_objects::Object;
use pintle_tree::jsonpath::Query;
use pintle_tree::{Node, quote::quote};

use super::{Malformed, Readiness, generic};

/// The annotation with expressions of which one must hold for an object to be ready.
pub const READINESS_SUCCESS: &str = "helm.sh/readiness-success";
/// The annotation with expressions of which none may hold, because the object has failed then.
pub const READINESS_FAILURE: &str = "helm.sh/readiness-failure";

/// The expressions of an object, which replace the rules of its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadinessExpressions {
    success: Vec<Expression>,
    failure: Vec<Expression>,
}

/// An expression that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {annotation}: {reason}")]
pub struct InvalidExpression {
    /// The annotation.
    pub annotation: &'static str,
    /// The expression, and what is wrong with it.
    pub reason: String,
}

impl ReadinessExpressions {
    /// Reads the annotations of an object. Returns `None` unless it has both: one of them alone cannot distinguish an
    /// object that has failed from one that is not ready yet.
    ///
    /// # Errors
    /// An expression that cannot be understood.
    pub fn from_object(object: &Object) -> Result<Option<Self>, InvalidExpression> {
        let (success, failure) = (object.annotation(READINESS_SUCCESS), object.annotation(READINESS_FAILURE));
        let (Some(success), Some(failure)) = (success, failure) else { return Ok(None) };
        Ok(Some(ReadinessExpressions {
            success: parse_list(READINESS_SUCCESS, success)?,
            failure: parse_list(READINESS_FAILURE, failure)?,
        }))
    }

    /// Computes the readiness of a live object. A status that its controller wrote for an earlier generation does not count.
    pub(crate) fn evaluate(&self, object: &Object) -> Readiness {
        self.status(object).unwrap_or_else(Readiness::malformed)
    }

    fn status(&self, object: &Object) -> Result<Readiness, Malformed> {
        if let Some(outdated) = generic::outdated(object)? {
            return Ok(outdated);
        }
        // Failure first: an object for which both hold has failed.
        if let Some(failed) = self.failure.iter().find(|one| one.holds_for_any(object)) {
            let text = format!("Resource has failed: {}", failed.text);
            return Ok(Readiness::failed(text.clone(), text));
        }
        if let Some(reached) = self.success.iter().find(|one| one.holds_for_all(object)) {
            let text = format!("Resource is ready: {}", reached.text);
            return Ok(Readiness::current(text.clone(), text));
        }
        let awaited: Vec<&str> = self.success.iter().map(|one| one.text.as_str()).collect();
        let text = format!("Waiting for {}", awaited.join(" or "));
        Ok(Readiness::in_progress(text.clone(), text))
    }
}

/// Reads a list of expressions: a list in JSON or YAML, or one expression in each line.
fn parse_list(annotation: &'static str, text: &str) -> Result<Vec<Expression>, InvalidExpression> {
    let invalid = |reason: String| InvalidExpression { annotation, reason };
    let text = text.trim();
    // Every expression begins with `{`, which YAML would read as a map, so one per line is recognised first.
    let expressions: Vec<String> = match text.starts_with('{') {
        true => text.lines().map(str::to_owned).collect(),
        false => match pintle_yaml::read(text.as_bytes()) {
            Ok(Node::List(items)) => {
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                texts.ok_or_else(|| invalid("it is a list of expressions in quotes".to_owned()))?
            }
            _ => return Err(invalid(format!("{} is no list of expressions", quote(text.as_bytes())))),
        },
    };
    let parse = |text: &String| {
        Expression::parse(text.trim()).map_err(|why| invalid(format!("`{}`: {why}", text.trim())))
    };
    let found: Vec<Expression> =
        expressions.iter().filter(|text| !text.trim().is_empty()).map(parse).collect::<Result<_, _>>()?;
    if found.is_empty() { Err(invalid("it has no expression".to_owned())) } else { Ok(found) }
}

/// `{.succeeded} >= 1`: a path below `.status`, an operator and a value.
#[derive(Clone, Debug, PartialEq)]
struct Expression {
    text: String,
    query: Query,
    operator: Operator,
    value: Literal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    LessOrEqual,
    GreaterOrEqual,
    Less,
    Greater,
}

/// Longer operators come before those that they begin with.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

#[derive(Clone, Debug, PartialEq)]
enum Literal {
    Bool(bool),
    Number(f64),
    Text(String),
}

impl Expression {
    fn parse(text: &str) -> Result<Self, String> {
        let (query, rest) = Query::parse_prefix(text)?;
        let rest = rest.trim_start();
        let operator =
            OPERATORS.iter().find_map(|(sign, operator)| Some((*operator, rest.strip_prefix(sign)?)));
        let Some((operator, value)) = operator else {
            return Err("one of ==, !=, <, <=, > and >= must follow the path".to_owned());
        };
        let value = Literal::parse(value.trim())?;
        Ok(Expression { text: text.to_owned(), query, operator, value })
    }

    /// Whether the path finds at least one value, and all values satisfy the comparison.
    fn holds_for_all(&self, object: &Object) -> bool {
        let found = self.find(object);
        !found.is_empty() && found.iter().all(|node| self.fits(node))
    }

    fn holds_for_any(&self, object: &Object) -> bool {
        self.find(object).iter().any(|node| self.fits(node))
    }

    fn find<'a>(&'a self, object: &'a Object) -> Vec<&'a Node> {
        match object.at(&["status"]) {
            Some(Node::Map(status)) => self.query.find(status),
            _ => Vec::new(),
        }
    }

    /// Whether a value satisfies the comparison. Maps, lists and null never do.
    fn fits(&self, node: &Node) -> bool {
        let Some(order) = self.value.compare(node) else { return false };
        match self.operator {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Operator::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Operator::Less => order == Some(Ordering::Less),
            Operator::Greater => order == Some(Ordering::Greater),
        }
    }
}

impl Literal {
    fn parse(text: &str) -> Result<Self, String> {
        let quoted = ['"', '\''].iter().find_map(|sign| text.strip_prefix(*sign)?.strip_suffix(*sign));
        if let Some(inner) = quoted {
            return Ok(Literal::Text(inner.to_owned()));
        }
        match text {
            "" => Err("a value must follow the operator".to_owned()),
            "true" => Ok(Literal::Bool(true)),
            "false" => Ok(Literal::Bool(false)),
            _ if text.starts_with(['{', '[', '"', '\'']) => {
                Err("the value must be a text, a number, true or false".to_owned())
            }
            _ => Ok(text.parse().map_or_else(|_| Literal::Text(text.to_owned()), Literal::Number)),
        }
    }

    /// How a value of the status compares to this one; an inner `None` is for values of another type, which differ but have
    /// no order.
    #[expect(clippy::cast_precision_loss, reason = "counts in a status are far from 2^53")]
    fn compare(&self, node: &Node) -> Option<Option<Ordering>> {
        Some(match (node, self) {
            (Node::Map(_) | Node::List(_) | Node::Nil, _) => return None,
            (Node::Bool(is), Literal::Bool(want)) => (is == want).then_some(Ordering::Equal),
            (Node::Int(is), Literal::Number(want)) => (*is as f64).partial_cmp(want),
            (Node::Float(is), Literal::Number(want)) => is.partial_cmp(want),
            (Node::Str(is), Literal::Text(want)) => Some(is.as_bytes().cmp(want.as_bytes())),
            // Many APIs have numbers and booleans in strings, such as the status of conditions.
            (Node::Str(is), Literal::Number(want)) => {
                is.as_str().and_then(|is| is.parse::<f64>().ok()).and_then(|is| is.partial_cmp(want))
            }
            (Node::Str(is), Literal::Bool(want)) => {
                is.as_bytes().eq_ignore_ascii_case(want.to_string().as_bytes()).then_some(Ordering::Equal)
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    fn object(success: &str, failure: &str, rest: &str) -> Object {
        let text = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Database","metadata":{{"name":"db","generation":2}}{rest}}}"#
        );
        let mut object = Object::read_json(text.as_bytes()).expect("an object");
        for (key, text) in [(READINESS_SUCCESS, success), (READINESS_FAILURE, failure)] {
            if !text.is_empty() {
                object.set_annotation(key, text);
            }
        }
        object
    }

    fn evaluated(success: &str, failure: &str, status: &str) -> (Status, String) {
        let object = object(success, failure, &format!(r#","status":{status}"#));
        let found = ReadinessExpressions::from_object(&object).expect("valid").expect("both annotations");
        let readiness = found.evaluate(&object);
        (readiness.status, readiness.detail)
    }

    #[test]
    fn one_success_makes_an_object_ready_and_one_failure_makes_it_fail() {
        let success = r#"["{.phase} == Running", '{.ready} >= 2']"#;
        let failure = "{.failed} > 0\n{.phase} == \"Broken\"";
        for (status, want, detail) in [
            (r#"{"phase":"Running"}"#, Status::Current, "Resource is ready: {.phase} == Running"),
            (r#"{"phase":"Starting","ready":2}"#, Status::Current, "Resource is ready: {.ready} >= 2"),
            (r#"{"phase":"Running","failed":1}"#, Status::Failed, "Resource has failed: {.failed} > 0"),
            (r#"{"phase":"Broken"}"#, Status::Failed, "Resource has failed: {.phase} == \"Broken\""),
            (r#"{"ready":1}"#, Status::InProgress, "Waiting for {.phase} == Running or {.ready} >= 2"),
            (
                r#"{"phase":{"Running":1}}"#,
                Status::InProgress,
                "Waiting for {.phase} == Running or {.ready} >= 2",
            ),
        ] {
            assert_eq!(evaluated(success, failure, status), (want, detail.to_owned()), "{status}");
        }
    }

    #[test]
    fn all_values_must_fit_for_success_and_any_for_failure() {
        let (success, failure) = ("{.pods[*].ready} == true", "{.pods[*].restarts} > 3");
        let of = |status| evaluated(success, failure, status).0;
        assert_eq!(of(r#"{"pods":[{"ready":true},{"ready":true}]}"#), Status::Current);
        assert_eq!(of(r#"{"pods":[{"ready":true},{"ready":false}]}"#), Status::InProgress);
        assert_eq!(
            of(r#"{"pods":[{"ready":true,"restarts":1},{"ready":true,"restarts":4}]}"#),
            Status::Failed
        );
        assert_eq!(of(r#"{"pods":[]}"#), Status::InProgress);
    }

    #[test]
    fn conditions_compare_as_kubernetes_spells_them() {
        for success in [
            r#"{.conditions[?(@.type=="Ready")].status} == "True""#,
            r#"{.conditions[?(@.type=="Ready")].status} == True"#,
            r#"{.conditions[?(@.type=="Ready")].status} == true"#,
            "{.count} != 0",
        ] {
            let status = r#"{"conditions":[{"type":"Ready","status":"True"}],"count":"3"}"#;
            assert_eq!(evaluated(success, "{.no} == 1", status).0, Status::Current, "{success}");
        }
        assert_eq!(
            evaluated("{.no} != 1", "{.no} == 1", "{}").0,
            Status::InProgress,
            "nothing is not different"
        );
    }

    #[test]
    fn a_status_of_an_earlier_generation_does_not_count() {
        let status = r#"{"phase":"Running","observedGeneration":1}"#;
        assert_eq!(evaluated("{.phase} == Running", "{.no} == 1", status).0, Status::InProgress);
    }

    #[test]
    fn one_annotation_alone_has_no_effect() {
        let alone = object("{.phase} == Running", "", "");
        assert_eq!(ReadinessExpressions::from_object(&alone), Ok(None));
    }

    #[test]
    fn what_is_no_expression_is_named() {
        for (text, want) in [
            ("succeeded", "\"succeeded\" is no list of expressions"),
            ("[]", "it has no expression"),
            ("[1]", "it is a list of expressions in quotes"),
            ("{.a}", "`{.a}`: one of ==, !=, <, <=, > and >= must follow the path"),
            ("{.a} =", "`{.a} =`: one of ==, !=, <, <=, > and >= must follow the path"),
            ("{.a} ==", "`{.a} ==`: a value must follow the operator"),
            ("{.a} == {}", "`{.a} == {}`: the value must be a text, a number, true or false"),
            ("{.a == 1", "`{.a == 1`: unrecognized character in action: U+003D '='"),
        ] {
            let error = ReadinessExpressions::from_object(&object("{.a} == 1", text, "")).unwrap_err();
            assert_eq!(error.to_string(), format!("annotation helm.sh/readiness-failure: {want}"));
        }
    }
}
