//! When objects are ready by the expressions of a request (`healthCheckExprs`), instead of the rules of their kind.

use std::sync::Arc;

use pintle::cluster::wait::{Readiness, ReadinessRules, Status};
use pintle::objects::Object;
use serde_json::Value;

use crate::expression::{Evaluation, Expression};
use crate::request::HealthCheckExpr;

/// The checks of a request.
#[derive(Debug)]
struct HealthChecks(Vec<HealthCheck>);

/// The expressions for one kind, in the order in which they count.
#[derive(Debug)]
struct HealthCheck {
    group: String,
    kind: String,
    expressions: Vec<(Status, Expression)>,
}

/// The rules of a request; `None` if it has none.
///
/// # Errors
/// Which expression cannot be understood, and why.
pub(crate) fn rules(checks: &[HealthCheckExpr]) -> Result<Option<Arc<dyn ReadinessRules>>, String> {
    if checks.is_empty() {
        return Ok(None);
    }
    let parsed: Result<Vec<HealthCheck>, String> = checks
        .iter()
        .enumerate()
        .map(|(index, check)| {
            HealthCheck::parse(check).map_err(|error| format!("spec.healthCheckExprs[{index}].{error}"))
        })
        .collect();
    Ok(Some(Arc::new(HealthChecks(parsed?))))
}

impl HealthCheck {
    fn parse(check: &HealthCheckExpr) -> Result<HealthCheck, String> {
        let mut expressions = Vec::new();
        for (field, status, text) in [
            ("inProgress", Status::InProgress, check.in_progress.as_deref()),
            ("failed", Status::Failed, check.failed.as_deref()),
            ("current", Status::Current, Some(check.current.as_str())),
        ] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                let expression = Expression::parse(text).map_err(|error| format!("{field}: {error}"))?;
                expressions.push((status, expression));
            }
        }
        let group = check.api_version.split_once('/').map_or("", |(group, _)| group);
        Ok(HealthCheck { group: group.to_owned(), kind: check.kind.clone(), expressions })
    }

    /// The status by the first expression that holds. The fields of the object are its variables, and a field that is missing
    /// makes an expression false.
    fn readiness(&self, object: &Object) -> Readiness {
        let fields: Value = serde_json::from_slice(&object.to_json()).unwrap_or_default();
        let variables = || {
            let fields = fields.as_object().into_iter().flatten();
            fields.map(|(name, value)| (name.as_str(), value.clone()))
        };
        for (status, expression) in &self.expressions {
            let text = match expression.evaluate(variables()) {
                Ok(Evaluation::True) => format!("`{}` holds", expression.text()),
                Ok(_) => continue,
                // Waiting would not help.
                Err(error) => {
                    let text = format!("`{}`: {error}", expression.text());
                    return Readiness::new(Status::Failed, text.clone(), text);
                }
            };
            return Readiness::new(*status, text.clone(), text);
        }
        let awaited = self.expressions.last().map_or("", |(_, expression)| expression.text());
        let text = format!("Waiting for `{awaited}`");
        Readiness::new(Status::InProgress, text.clone(), text)
    }
}

impl HealthChecks {
    fn find(&self, group: &str, kind: &str) -> Option<&HealthCheck> {
        self.0.iter().find(|check| check.group == group && check.kind == kind)
    }
}

impl ReadinessRules for HealthChecks {
    fn covers(&self, group: &str, kind: &str) -> bool {
        self.find(group, kind).is_some()
    }

    fn readiness(&self, object: &Object) -> Readiness {
        let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
        self.find(group, object.kind()).map_or_else(Readiness::unknown, |check| check.readiness(object))
    }
}

#[cfg(all(test, feature = "cel"))]
mod tests {
    use super::*;

    fn check() -> HealthCheckExpr {
        HealthCheckExpr {
            api_version: "example.com/v1".to_owned(),
            kind: "Widget".to_owned(),
            in_progress: Some("status.phase == 'Starting'".to_owned()),
            failed: Some("status.phase == 'Broken'".to_owned()),
            current: "status.conditions.exists(c, c.type == 'Synced' && c.status == 'True')".to_owned(),
        }
    }

    fn status(fields: &str) -> Status {
        let rules = rules(&[check()]).expect("good expressions").expect("there are some");
        let text = format!(r#"{{"apiVersion":"example.com/v2","kind":"Widget"{fields}}}"#);
        rules.readiness(&Object::read_json(text.as_bytes()).expect("an object")).status
    }

    #[test]
    fn the_first_expression_that_holds_counts() {
        assert_eq!(status(""), Status::InProgress, "a status that is missing is not there yet");
        assert_eq!(status(r#","status":{"phase":"Starting"}"#), Status::InProgress);
        assert_eq!(status(r#","status":{"phase":"Broken"}"#), Status::Failed);
        let synced = r#""conditions":[{"type":"Synced","status":"True"}]"#;
        assert_eq!(status(&format!(r#","status":{{"phase":"Up",{synced}}}"#)), Status::Current);
        assert_eq!(status(&format!(r#","status":{{"phase":"Broken",{synced}}}"#)), Status::Failed);
        assert_eq!(status(r#","status":{"phase":"Up","conditions":[]}"#), Status::InProgress);
    }

    #[test]
    fn the_group_counts_and_the_version_does_not() {
        let rules = rules(&[check()]).expect("good expressions").expect("there are some");
        assert!(rules.covers("example.com", "Widget"));
        assert!(!rules.covers("other.example.com", "Widget") && !rules.covers("example.com", "Gadget"));
    }

    #[test]
    fn an_expression_that_is_wrong_is_named() {
        let wrong = HealthCheckExpr { failed: Some("status.phase ==".to_owned()), ..check() };
        let error = rules(&[check(), wrong]).expect_err("it cannot be parsed");
        assert!(error.starts_with("spec.healthCheckExprs[1].failed: "), "{error}");
        assert!(rules(&[]).expect("nothing is wrong").is_none());
    }
}
