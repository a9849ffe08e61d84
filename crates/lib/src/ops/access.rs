//! `access`: what the user may do, and which namespaces there are.

use futures::FutureExt as _;
use pintle_cluster::apply::run_concurrently;
use pintle_cluster::{Cluster, ListParams, Resource, WriteParams};
use pintle_objects::Object;
use pintle_tree::{Map, Node};

use crate::{Result, Session};

/// Something that the user may or may not do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessQuestion {
    /// The namespace; empty for all.
    pub namespace: String,
    /// The verb, such as `create`.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, such as `secrets`.
    pub resource: String,
    /// The subresource, such as `log`; mostly empty.
    pub subresource: String,
}

/// Whether the user may do it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessAnswer {
    /// Whether it is allowed. Without an answer of the server it is: the server decides anyway when it is done.
    pub allowed: bool,
    /// Why, as the server says; often empty.
    pub reason: String,
}

/// Asks the server what the user may do, by SelfSubjectAccessReviews. A server that does not know them allows everything.
///
/// # Errors
/// When the server cannot be reached.
pub async fn access(session: &Session, questions: &[AccessQuestion]) -> Result<Vec<AccessAnswer>> {
    let cluster = &session.cluster;
    let answers = run_concurrently(questions, |question| ask(cluster, question).boxed()).await;
    answers.into_iter().collect()
}

async fn ask(cluster: &Cluster, question: &AccessQuestion) -> Result<AccessAnswer> {
    let fields = [
        ("namespace", &question.namespace),
        ("verb", &question.verb),
        ("group", &question.group),
        ("resource", &question.resource),
        ("subresource", &question.subresource),
    ];
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let attributes = given.map(|(key, value)| (key.into(), value.as_str().into())).collect();
    let spec = Map::from_entries(vec![("resourceAttributes".into(), Node::Map(attributes))]);
    let review = Map::from_entries(vec![
        ("apiVersion".into(), "authorization.k8s.io/v1".into()),
        ("kind".into(), "SelfSubjectAccessReview".into()),
        ("spec".into(), Node::Map(spec)),
    ]);
    let answer = match cluster.create_object(&Object::new(review), &WriteParams::default()).await {
        Ok(answer) => answer.object()?,
        // Whoever may not ask, or asks a server that does not know the question, finds out when it is done.
        Err(error) if error.is_transport() => return Err(error.into()),
        Err(_) => return Ok(unasked()),
    };
    let Some(allowed) = answer.at(&["status", "allowed"]).and_then(Node::as_bool) else {
        return Ok(unasked());
    };
    Ok(AccessAnswer { allowed, reason: answer.text(&["status", "reason"]).to_owned() })
}

fn unasked() -> AccessAnswer {
    AccessAnswer { allowed: true, reason: String::new() }
}

/// The names of all namespaces, sorted; `None` if the user may not list them.
///
/// # Errors
/// When they cannot be listed for another reason.
pub async fn namespaces(session: &Session) -> Result<Option<Vec<String>>> {
    let resource = Resource { namespaced: false, ..Resource::new("", "v1", "Namespace", "namespaces") };
    let params = ListParams { metadata_only: true, ..ListParams::default() };
    match session.cluster.list(&resource, "", &params).await {
        Ok(objects) => {
            let mut names: Vec<String> = objects.iter().map(|object| object.name().to_owned()).collect();
            names.sort();
            Ok(Some(names))
        }
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
