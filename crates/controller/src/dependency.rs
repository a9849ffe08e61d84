//! What a request waits for: other requests, or any object that is ready by kstatus or by a CEL expression.

use pintle::cluster::{Cluster, crds, wait};
use pintle::objects::{Object, ObjectId};
use pintle_tree::Node;

use crate::error::{Error, Result};
use crate::expression::{Evaluation, Expression};
use crate::request::{Dependency, HelmRequest};

/// How many requests the search for a dependency cycle reads.
const MAX_CHAIN: usize = 100;

/// Checks that everything that a request depends on is ready. All of it is read by `cluster`, with the rights of the request.
///
/// # Errors
/// What is not ready or must not be read, or that requests wait for each other.
pub(crate) async fn check(cluster: &Cluster, request: &HelmRequest) -> Result<()> {
    for dependency in &request.spec.depends_on {
        let namespace = dependency.namespace.as_deref().filter(|name| !name.is_empty());
        let namespace = namespace.unwrap_or(request.namespace());
        let reason = match is_request(dependency) {
            true => request_reason(cluster, request, dependency, namespace).await,
            false => object_reason(cluster, request, dependency, namespace).await,
        };
        let reason = match reason {
            // It may become readable without a change of the request, as it may become ready.
            Err(Error::Cluster(error)) if error.is_forbidden() => Some(error.to_string()),
            reason => reason?,
        };
        let Some(reason) = reason else { continue };
        if is_request(dependency)
            && let Some(cycle) = cycle(cluster, request, namespace, &dependency.name).await?
        {
            return Err(Error::DependencyCycle(cycle));
        }
        let mut dependency = dependency.clone();
        dependency.namespace = Some(namespace.to_owned());
        return Err(Error::DependencyNotReady { dependency: Box::new(dependency), reason });
    }
    Ok(())
}

fn is_request(dependency: &Dependency) -> bool {
    dependency.kind.as_deref().is_none_or(|kind| kind.is_empty() || kind == "HelmRequest")
}

/// Why another request is not ready; `None` if it is.
async fn request_reason(
    cluster: &Cluster,
    request: &HelmRequest,
    dependency: &Dependency,
    namespace: &str,
) -> Result<Option<String>> {
    let found = cluster.get_by_name(&crds::helm_requests(), namespace, &dependency.name).await?;
    let Some(object) = found else { return Ok(Some("it does not exist".to_owned())) };
    match expression(dependency) {
        Some(expression) => evaluate(expression, request, &object).await,
        None => Ok(condition_reason(&object, namespace == request.namespace())),
    }
}

/// Why the conditions of a request say that it is not ready; `None` if they do not. The message, which may hold anything of the
/// release, stays in its namespace.
fn condition_reason(object: &Object, is_local: bool) -> Option<String> {
    if object.int(&["metadata", "generation"]) != object.int(&["status", "observedGeneration"]) {
        return Some("its last change was not handled yet".to_owned());
    }
    let conditions = object.at(&["status", "conditions"]).and_then(Node::as_list).unwrap_or_default();
    let ready = conditions.iter().find(|node| node.get("type").and_then(Node::as_str) == Some("Ready"));
    let text = |key: &str| ready.and_then(|node| node.get(key)).and_then(Node::as_str).unwrap_or_default();
    match text("status") {
        "True" => None,
        _ if text("message").is_empty() => Some("it has no condition Ready".to_owned()),
        _ if is_local => Some(text("message").to_owned()),
        _ => Some("see its condition Ready".to_owned()),
    }
}

/// Why an object is not ready; `None` if it is.
async fn object_reason(
    cluster: &Cluster,
    request: &HelmRequest,
    dependency: &Dependency,
    namespace: &str,
) -> Result<Option<String>> {
    let version = dependency.api_version.as_deref().unwrap_or("v1");
    let kind = dependency.kind.as_deref().unwrap_or_default();
    let resource = cluster.resource(version, kind).await?;
    let namespace = if resource.namespaced { namespace } else { "" };
    let id = ObjectId::new(version, kind, namespace, &dependency.name);
    let Some(object) = cluster.get(&id).await? else { return Ok(Some("it does not exist".to_owned())) };
    if let Some(expression) = expression(dependency) {
        return evaluate(expression, request, &object).await;
    }
    let readiness = wait::ready(&object);
    Ok(match readiness.status {
        wait::Status::Current => None,
        // The message is that of the object's conditions, and stays in its namespace.
        _ if id.namespace == request.namespace() => Some(readiness.message),
        _ => Some("see its status".to_owned()),
    })
}

fn expression(dependency: &Dependency) -> Option<&str> {
    dependency.ready_expr.as_deref().filter(|expression| !expression.is_empty())
}

/// Why an expression does not hold; `None` if it does. A field that is still missing, such as a status, makes it false.
async fn evaluate(expression: &str, request: &HelmRequest, dependency: &Object) -> Result<Option<String>> {
    let own = serde_json::to_value(request).unwrap_or_default();
    let dependency = dependency.to_json();
    let text = expression.to_owned();
    // On a thread that nobody else waits for: an expression may use its whole budget.
    let evaluated = tokio::task::spawn_blocking(move || {
        let dependency = serde_json::from_slice(&dependency).unwrap_or_default();
        evaluate_json(&text, own, dependency)
    });
    let evaluated = evaluated.await.unwrap_or_else(|_| Err("it cannot be evaluated".to_owned()));
    evaluated.map_err(|error| Error::InvalidSpec(format!("readyExpr `{expression}`: {error}")))
}

fn evaluate_json(
    expression: &str,
    own: serde_json::Value,
    dependency: serde_json::Value,
) -> std::result::Result<Option<String>, String> {
    match Expression::parse(expression)?.evaluate([("self", own), ("dep", dependency)])? {
        Evaluation::True => Ok(None),
        Evaluation::False => Ok(Some(format!("readyExpr `{expression}` is false"))),
        Evaluation::MissingField(key) if key.is_empty() => {
            Ok(Some("it does not have a field that readyExpr computes".to_owned()))
        }
        Evaluation::MissingField(key) => Ok(Some(format!("it has no `{key}` yet"))),
        Evaluation::MissingVariable(name) => Err(format!("there is no `{name}`; there are self and dep")),
    }
}

/// The requests that wait for each other, if following the dependencies from one leads back to the request. Requests that must not
/// be read are not followed.
async fn cycle(
    cluster: &Cluster,
    request: &HelmRequest,
    namespace: &str,
    name: &str,
) -> Result<Option<String>> {
    let home = (request.namespace().to_owned(), request.name().to_owned());
    let mut open = vec![vec![(namespace.to_owned(), name.to_owned())]];
    let mut seen = Vec::new();
    while let Some(path) = open.pop() {
        let Some(last) = path.last().cloned() else { continue };
        if last == home {
            let names = std::iter::once(&home).chain(&path);
            let names: Vec<String> = names.map(|(namespace, name)| format!("{namespace}/{name}")).collect();
            return Ok(Some(names.join(" → ")));
        }
        if seen.contains(&last) || seen.len() >= MAX_CHAIN {
            continue;
        }
        seen.push(last.clone());
        let found = match cluster.get_by_name(&crds::helm_requests(), &last.0, &last.1).await {
            Err(error) if error.is_forbidden() => None,
            found => found?,
        };
        let found = found.and_then(|object| serde_json::from_slice::<HelmRequest>(&object.to_json()).ok());
        for dependency in
            found.iter().flat_map(|found| &found.spec.depends_on).filter(|next| is_request(next))
        {
            let namespace = dependency.namespace.clone().filter(|name| !name.is_empty());
            let namespace = namespace.unwrap_or_else(|| last.0.clone());
            open.push(path.iter().cloned().chain([(namespace, dependency.name.clone())]).collect());
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn evaluated(expression: &str) -> std::result::Result<Option<String>, String> {
        let own = json!({"metadata": {"labels": {"tier": "web"}}});
        let dependency = json!({"spec": {"replicas": 2}, "status": {"ready": 2, "phase": "Bound"}});
        evaluate_json(expression, own, dependency)
    }

    #[test]
    fn expressions_see_the_request_and_the_dependency() {
        assert_eq!(evaluated("dep.status.ready == dep.spec.replicas"), Ok(None));
        assert_eq!(
            evaluated("self.metadata.labels.tier == 'web' && dep.status.phase in ['Bound']"),
            Ok(None)
        );
        assert_eq!(
            evaluated("dep.status.ready > 2"),
            Ok(Some("readyExpr `dep.status.ready > 2` is false".to_owned()))
        );
        assert_eq!(evaluated("has(dep.status.nothing)").map(|reason| reason.is_some()), Ok(true));
    }

    #[test]
    fn a_field_that_is_missing_means_not_yet() {
        assert_eq!(evaluated("dep.status.nothing == 1"), Ok(Some("it has no `nothing` yet".to_owned())));
    }

    #[test]
    fn expressions_that_are_wrong_are_errors() {
        for wrong in ["dep.status.ready ==", "dep.status.ready", "missing == 1"] {
            assert!(evaluated(wrong).is_err(), "{wrong}");
        }
    }

    /// Whoever reads the status of a request may not be allowed to read what it depends on.
    #[cfg(feature = "cel")]
    #[test]
    fn messages_never_contain_data() {
        for text in [
            r#"{"a": true}[dep.password]"#,
            r#"{"a": {"b": true}}.a[dep.password]"#,
            "dep.password",
            "dep.list",
            "dep.password > 1",
            "dep.password + 1 == 2",
            "dep.password - dep.password == 1",
            "dep.number / 0 == 1",
            "dep.number % 0 == 1",
            "dep.number + 9223372036854775807 == 0",
            "int(dep.password) == 1",
            "double(dep.password) == 1.0",
            "timestamp(dep.password) == timestamp(dep.password)",
            "duration(dep.password) == duration(dep.password)",
            "bytes(dep.password) == 1",
            "dep.password.matches(dep.broken)",
            "'a'.matches(dep.broken)",
            "dep.password.nothing",
            "dep.password.size(dep.password)",
            "dep.password.nothing(1)",
            "dep.list[dep.number]",
            "dep.list[dep.password]",
            "dep.list[dep.list]",
            "{dep.list: true}[dep.list]",
            "{dep.password: 1, dep.password: 2} == {}",
            "dep[dep.password]",
            "dep.list.all(x, x)",
            "dep.list.exists_one(x, x)",
            "dep.password.all(x, x)",
            "!dep.password",
            "-dep.password == 1",
            "dep.password ? true : false",
            "dep.password in dep.number",
            "dep.password < dep.list",
            "dep.list.map(x, x.nothing) == []",
        ] {
            let data = json!({"password": "hunter2(", "number": 424_242, "list": ["hunter2("], "broken": "hunter2("});
            let message = match evaluate_json(text, json!({}), data) {
                Ok(reason) => reason.unwrap_or_default(),
                Err(error) => error,
            };
            // The expression itself is quoted.
            let message = message.replace(text, "");
            assert!(!message.contains("hunter2") && !message.contains("424242"), "{text}: {message}");
        }
    }
}
