//! As many pods as are wanted: what sets of like pods have in common.

use std::time::Duration;

use pintle_tree::{Node, Str};

use super::client::{ApiError, PODS};
use super::reconcile::{Request, Requeue};
use super::template::{self, condition, ready_since, time};
use crate::api::meta::{number_at, set, text_at};
use crate::status::Status;

/// The most that belong to one owner: whoever asks for a billion pods gets these.
const MAX_PODS_PER_OWNER: usize = 1_000;

/// Makes a pod of the template of a set. A name that ends in `-` is completed.
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
    let message = format!("pods {name:?} is forbidden: one owner has at most {MAX_PODS_PER_OWNER} here");
    ApiError { code: 403, message }
}

/// When it is tried again to make a pod that was refused: soon at first, and then after longer and longer pauses.
pub(super) fn backoff(request: &Request<'_>) -> Option<Requeue> {
    let error = condition(&request.object, "ReplicaFailure").map(|it| text_at(it, &["lastTransitionTime"]));
    let since = time(error.unwrap_or_else(|| request.text(&["metadata", "creationTimestamp"])));
    let age = request.now.saturating_sub(since.unwrap_or_default());
    Requeue::at_without_advancing(request.now + age.clamp(Duration::from_secs(1), Duration::from_secs(60)))
}

/// Deletes a pod of a set.
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

/// What a StatefulSet did, as its controller spells it.
pub(super) fn verb(request: &Request<'_>, verb: &str) -> String {
    if request.client.api.catalog().minor() < 35 { verb.to_lowercase() } else { verb.to_owned() }
}

/// How many of the pods are ready, how many have been for long enough, and when the next will have been.
pub(super) struct Count {
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) next: Option<Requeue>,
}

/// Counts the pods of a set.
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

/// A number of pods, or a percentage of all.
pub(super) fn scaled_value(value: Option<&Node>, of: i64, up: bool) -> i64 {
    match value {
        Some(Node::Int(number)) => (*number).max(0),
        Some(Node::Str(text)) => {
            let text = text.to_str_lossy();
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let hundredths = of.saturating_mul(percent.max(0));
            if up { (hundredths + 99) / 100 } else { hundredths / 100 }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_percentages() {
        assert_eq!(scaled_value(Some(&Node::Int(2)), 10, true), 2);
        assert_eq!(scaled_value(Some(&"25%".into()), 3, true), 1);
        assert_eq!(scaled_value(Some(&"25%".into()), 3, false), 0);
        assert_eq!(scaled_value(Some(&"many".into()), 3, true), 0);
    }
}
