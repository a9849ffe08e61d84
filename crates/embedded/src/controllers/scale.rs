//! What all controllers of replicated pods share.

use std::time::Duration;

use pintle_tree::{Node, Str};

use super::client::{ApiError, PODS};
use super::reconcile::{Request, Requeue};
use super::template::{self, condition, ready_since, time};
use crate::api::meta::{number_at, set, text_at};
use crate::status::Status;

/// The limit of pods per owner. `replicas` is unbounded in the API, and a billion of them would exhaust memory.
const MAX_PODS_PER_OWNER: usize = 1_000;

/// Creates a pod from the template. A name that ends in `-` becomes `generateName`. The outer error is one of the
/// store; the inner one is the API's rejection, which is recorded as an event.
pub(super) async fn create_pod(
    request: &Request<'_>,
    source: &str,
    name: &str,
    adjust: impl Fn(&mut Node),
) -> Result<Result<Node, ApiError>, Status> {
    let nothing = Node::Nil;
    let template = crate::api::meta::at(&request.object, &["spec", "template"]).unwrap_or(&nothing);
    let mut pod = template::pod_from_template(template, &request.object);
    let field = if name.ends_with('-') { "generateName" } else { "name" };
    set(&mut pod, &["metadata", field], name);
    set(&mut pod, &["metadata", "namespace"], request.namespace());
    adjust(&mut pod);
    let created = match request.client.api.store().count_dependents(&Str::from(request.uid())) {
        // As an error of the API, so that it shows in conditions and events like a quota.
        MAX_PODS_PER_OWNER.. => Err(too_many_pods(name)),
        _ => request.client.create(PODS, request.namespace(), &pod).await,
    };
    match &created {
        Ok(pod) if source == "statefulset-controller" => {
            let name = text_at(pod, &["metadata", "name"]);
            let text = format!(
                "{} Pod {name} in StatefulSet {} successful",
                verb(request, "Create"),
                request.name()
            );
            request
                .client
                .record_event(&request.object, source, ("Normal", "SuccessfulCreate"), &text)
                .await?;
        }
        Ok(pod) => {
            let text = format!("Created pod: {}", text_at(pod, &["metadata", "name"]));
            request
                .client
                .record_event(&request.object, source, ("Normal", "SuccessfulCreate"), &text)
                .await?;
        }
        Err(error) => {
            let text = format!("Error creating: {}", error.message);
            request.client.record_event(&request.object, source, ("Warning", "FailedCreate"), &text).await?;
        }
    }
    Ok(created)
}

fn too_many_pods(name: &str) -> ApiError {
    let message = format!(
        "pods {name:?} is forbidden: an owner can have at most {MAX_PODS_PER_OWNER} pods in the embedded cluster"
    );
    ApiError { code: 403, message }
}

/// The backoff after a rejected create: as long as it has failed so far, between 1 s and 1 min.
pub(super) fn backoff(request: &Request<'_>) -> Option<Requeue> {
    let error = condition(&request.object, "ReplicaFailure").map(|it| text_at(it, &["lastTransitionTime"]));
    let since = time(error.unwrap_or_else(|| request.text(&["metadata", "creationTimestamp"])));
    let age = request.now.saturating_sub(since.unwrap_or_default());
    Requeue::at_without_advancing(request.now + age.clamp(Duration::from_secs(1), Duration::from_secs(60)))
}

pub(super) async fn delete_pod(request: &Request<'_>, source: &str, pod: &Node) -> Result<(), Status> {
    request.client.delete(PODS, pod, false).await?;
    let name = text_at(pod, &["metadata", "name"]);
    let text = match source {
        "statefulset-controller" => {
            format!("{} Pod {name} in StatefulSet {} successful", verb(request, "Delete"), request.name())
        }
        _ => format!("Deleted pod: {name}"),
    };
    request.client.record_event(&request.object, source, ("Normal", "SuccessfulDelete"), &text).await
}

/// The verb in events of the StatefulSet controller, which is capitalized since 1.35.
pub(super) fn verb(request: &Request<'_>, verb: &str) -> String {
    if request.client.api.catalog().minor() < 35 { verb.to_lowercase() } else { verb.to_owned() }
}

/// Pods that are ready, pods that have been ready for `minReadySeconds`, and when the next will have been.
pub(super) struct Count {
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) next: Option<Requeue>,
}

pub(super) fn count(request: &Request<'_>, pods: &[Node]) -> Count {
    let seconds = number_at(&request.object, &["spec", "minReadySeconds"]).unwrap_or(0);
    let pause = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let mut count = Count { ready: 0, available: 0, next: None };
    for since in pods.iter().filter_map(ready_since) {
        count.ready += 1;
        if since + pause <= request.now || pause.is_zero() {
            count.available += 1;
        } else if count.next.is_none_or(|next| since + pause < next.at) {
            count.next = Requeue::at(since + pause);
        }
    }
    count
}

/// Resolves a value that is a number or a percentage of `of`, rounded up or down, as Kubernetes'
/// `GetScaledValueFromIntOrPercent`.
pub(super) fn scaled_value(value: Option<&Node>, of: i64, up: bool) -> i64 {
    match value {
        Some(Node::Int(number)) => (*number).max(0),
        Some(Node::Str(text)) => {
            let text = text.to_str_lossy();
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let hundredths = of.saturating_mul(percent.max(0));
            if up { hundredths.saturating_add(99) / 100 } else { hundredths / 100 }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_values_are_numbers_or_percentages() {
        assert_eq!(scaled_value(Some(&Node::Int(2)), 10, true), 2);
        assert_eq!(scaled_value(Some(&"25%".into()), 3, true), 1);
        assert_eq!(scaled_value(Some(&"25%".into()), 3, false), 0);
        assert_eq!(scaled_value(Some(&"many".into()), 3, true), 0);
    }
}
