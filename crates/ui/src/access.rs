//! Who is signed in, which clusters and namespaces there are, and what may be done there.

use std::sync::Arc;

use pintle::ops::{self, AccessQuestion};
use serde_json::{Map, Value, json};

use crate::answer::{Answered, Request};
use crate::app::{App, Authentication};
use crate::error::{Failure, Result};
use crate::{guard, query};

/// The parts of the interface, for pages that know more or fewer.
const FEATURES: [&str; 6] = ["releases", "plan", "explain", "charts", "requests", "rehearse"];

pub(crate) async fn login(app: Arc<App>, request: Request) -> Result<Answered> {
    let Authentication::Tokens(tokens) = &app.settings.authentication else {
        return Err(Failure::not_found("this server has no tokens to sign in with"));
    };
    let body = query::body(&request.body)?;
    let token = query::text(&body, "token")?;
    // Guessing is hopeless, and slow for those who try.
    let Some(viewer) = guard::user_of(tokens, token) else {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        return Err(Failure::new(401, "not-signed-in", "this is no token of this server"));
    };
    let cookie = app.sign_ins.sign_in(Some(viewer));
    let cookie = cookie.map_err(|error| Failure::new(500, "other", error.to_string()))?;
    Ok(Answered::Cookie(guard::set_cookie(&app, &cookie)))
}

pub(crate) async fn logout(app: Arc<App>, request: Request) -> Result<Answered> {
    if let Some(cookie) = &request.cookie {
        app.sign_ins.sign_out(cookie);
    }
    Ok(Answered::Cookie(guard::remove_cookie(&app)))
}

pub(crate) async fn session(app: Arc<App>, request: Request) -> Result<Answered> {
    let settings = &app.settings;
    let limits = settings.limits;
    Ok(Answered::json(json!({
        "version": settings.version,
        "write": settings.write,
        "user": request.viewer.map(|viewer| viewer.name),
        "auth": settings.authentication.word(),
        "context": settings.clusters.contexts().current,
        "localCharts": settings.local_charts,
        "limits": {"body": limits.body, "diffLines": limits.diff_lines},
        "features": FEATURES,
    })))
}

pub(crate) async fn contexts(app: Arc<App>, _: Request) -> Result<Answered> {
    let contexts = app.settings.clusters.contexts();
    let all = contexts.all.iter().map(|context| {
        json!({"name": context.name, "cluster": context.cluster, "namespace": context.namespace, "user": context.user})
    });
    Ok(Answered::json(json!({"current": contexts.current, "contexts": all.collect::<Vec<Value>>()})))
}

pub(crate) async fn namespaces(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let current = app.settings.clusters.contexts().namespace;
    let found = ops::namespaces(&session).await.map_err(|error| app.failure(&error))?;
    let complete = found.is_some();
    let names = found.unwrap_or_else(|| known_namespaces(&app, &request));
    Ok(Answered::json(json!({"namespaces": names, "complete": complete, "current": current})))
}

/// The namespaces that the kubeconfig names for the context, and the one that the program was started with.
pub(crate) fn known_namespaces(app: &App, request: &Request) -> Vec<String> {
    let contexts = app.settings.clusters.contexts();
    let context = app.context(request).unwrap_or_default();
    let of_context = contexts.all.iter().filter(|known| known.name == context);
    let mut names: Vec<String> = of_context.map(|context| context.namespace.clone()).collect();
    names.push(contexts.namespace);
    names.extend(request.query.words("namespaces").into_iter().map(str::to_owned));
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    names
}

/// An action, what it needs, and whether it changes something.
struct Action {
    name: &'static str,
    writes: bool,
    needs: &'static [Need],
}

/// Verb, group, resource and subresource.
type Need = (&'static str, &'static str, &'static str, &'static str);

/// Records are Secrets in Helm's store and custom resources in ours; what a release consists of is not known here.
const ACTIONS: [Action; 10] = [
    Action { name: "list", writes: false, needs: &[("list", "", "secrets", "")] },
    Action { name: "install", writes: true, needs: &[("create", "", "secrets", "")] },
    Action {
        name: "upgrade",
        writes: true,
        needs: &[("create", "", "secrets", ""), ("patch", "apps", "deployments", "")],
    },
    Action {
        name: "rollback",
        writes: true,
        needs: &[("create", "", "secrets", ""), ("patch", "apps", "deployments", "")],
    },
    Action {
        name: "uninstall",
        writes: true,
        needs: &[("delete", "", "secrets", ""), ("delete", "apps", "deployments", "")],
    },
    Action { name: "test", writes: true, needs: &[("create", "", "pods", "")] },
    Action { name: "logs", writes: false, needs: &[("get", "", "pods", "log")] },
    Action { name: "events", writes: false, needs: &[("list", "", "events", "")] },
    Action { name: "reveal", writes: false, needs: &[("get", "", "secrets", "")] },
    Action { name: "approve", writes: true, needs: &[("patch", "helm.sh", "helmrequests", "")] },
];

pub(crate) async fn permissions(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let namespace = request.query.text("namespace");
    let questions: Vec<AccessQuestion> =
        ACTIONS.iter().flat_map(|action| action.needs).map(|need| question(namespace, need)).collect();
    let answers = ops::access(&session, &questions).await.map_err(|error| app.failure(&error))?;
    let mut answers = questions.iter().zip(answers);
    let mut actions = Map::new();
    for action in &ACTIONS {
        let refused: Vec<String> = answers
            .by_ref()
            .take(action.needs.len())
            .filter(|(_, answer)| !answer.allowed)
            .map(|(question, answer)| refusal(question, &answer.reason))
            .collect();
        let reason = match refused.first() {
            _ if action.writes && !app.settings.write => {
                Some(format!("`{} ui` was started without --write", app.settings.program))
            }
            first => first.cloned(),
        };
        actions.insert(action.name.to_owned(), json!({"allowed": reason.is_none(), "reason": reason}));
    }
    let write = app.settings.write;
    Ok(Answered::json(json!({"namespace": namespace, "write": write, "actions": actions})))
}

fn question(namespace: &str, (verb, group, resource, subresource): &Need) -> AccessQuestion {
    AccessQuestion {
        namespace: namespace.to_owned(),
        verb: (*verb).to_owned(),
        group: (*group).to_owned(),
        resource: (*resource).to_owned(),
        subresource: (*subresource).to_owned(),
    }
}

fn refusal(question: &AccessQuestion, reason: &str) -> String {
    let place = match question.namespace.as_str() {
        "" => "in all namespaces".to_owned(),
        name => format!("in namespace {name}"),
    };
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("you may not {} {} {place}{reason}", question.verb, question.resource)
}

/// Whether a request may see the data of Secrets in a namespace: when it asks for them, and its user may read Secrets.
pub(crate) async fn reveals(app: &App, request: &Request, namespace: &str) -> Result<bool> {
    if !request.query.on("reveal") {
        return Ok(false);
    }
    let session = app.session(request).await?;
    let asked = question(namespace, &("get", "", "secrets", ""));
    let answers = ops::access(&session, std::slice::from_ref(&asked)).await;
    let answers = answers.map_err(|error| app.failure(&error))?;
    match answers.first() {
        Some(answer) if answer.allowed => Ok(true),
        answer => {
            let reason = answer.map(|answer| answer.reason.as_str()).unwrap_or_default();
            Err(Failure::new(403, "forbidden", refusal(&asked, reason)))
        }
    }
}

pub(crate) async fn openapi(_: Arc<App>, _: Request) -> Result<Answered> {
    let document = serde_json::from_str(crate::OPENAPI).unwrap_or(Value::Null);
    Ok(Answered::json(document))
}
