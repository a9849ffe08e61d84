//! Workloads, scalers and budgets in tables.

use pintle_tree::Node;

use super::{Seen, span, unix};
use crate::api::meta::{at, list_at, number_at, text_at};

const TEMPLATE: [&str; 4] = ["spec", "template", "spec", "containers"];

pub(super) fn cells(kind: &str, seen: &Seen<'_>) -> Option<Vec<Node>> {
    let status = |field: &str| seen.number(&["status", field]);
    let wanted = seen.number(&["spec", "replicas"]);
    let mut cells = vec![seen.name()];
    match kind {
        "Deployment" => {
            cells.push(format!("{}/{wanted}", status("readyReplicas")).into());
            cells.extend(["updatedReplicas", "availableReplicas"].map(|field| Node::Int(status(field))));
            cells.push(seen.age());
            cells.extend(seen.containers(&TEMPLATE));
            cells.push(seen.selector(&["spec", "selector"]));
        }
        "ReplicaSet" => {
            cells.extend([wanted, status("replicas"), status("readyReplicas")].map(Node::Int));
            cells.push(seen.age());
            cells.extend(seen.containers(&TEMPLATE));
            cells.push(seen.selector(&["spec", "selector"]));
        }
        "StatefulSet" => {
            cells.extend([format!("{}/{wanted}", status("readyReplicas")).into(), seen.age()]);
            cells.extend(seen.containers(&TEMPLATE));
        }
        "DaemonSet" => {
            let numbers = [
                "desiredNumberScheduled",
                "currentNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable",
            ];
            cells.extend(numbers.map(|field| Node::Int(status(field))));
            cells.extend([seen.labels(&["spec", "template", "spec", "nodeSelector"]), seen.age()]);
            cells.extend(seen.containers(&TEMPLATE));
            cells.push(seen.selector(&["spec", "selector"]));
        }
        "Job" => job(seen, &mut cells),
        "CronJob" => cron_job(seen, &mut cells),
        "ControllerRevision" => {
            let owners = list_at(seen.object, &["metadata", "ownerReferences"]);
            let is_controller = |owner: &&Node| owner.get("controller").and_then(Node::as_bool) == Some(true);
            let controller = owners.iter().find(is_controller).map(controller_name);
            cells.push(controller.unwrap_or_else(|| "<none>".to_owned()).into());
            cells.extend([Node::Int(seen.number(&["revision"])), seen.age()]);
        }
        "HorizontalPodAutoscaler" => scaler(seen, &mut cells),
        "PodDisruptionBudget" => {
            cells.push(seen.shown(&["spec", "minAvailable"], "N/A"));
            cells.push(seen.shown(&["spec", "maxUnavailable"], "N/A"));
            cells.extend([Node::Int(status("disruptionsAllowed")), seen.age()]);
        }
        _ => return None,
    }
    Some(cells)
}

fn controller_name(owner: &Node) -> String {
    let kind = text_at(owner, &["kind"]).to_lowercase();
    let name = text_at(owner, &["name"]);
    match text_at(owner, &["apiVersion"]).split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

fn job(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let states = [
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("", "Terminating"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    let holds = |kind: &str| if kind.is_empty() { seen.is_deleted() } else { seen.has_condition(kind) };
    let state = states.iter().find(|(kind, _)| holds(kind)).map_or("Running", |(_, state)| state);
    let done = seen.number(&["status", "succeeded"]);
    let parallelism = seen.number(&["spec", "parallelism"]);
    let completions = match number_at(seen.object, &["spec", "completions"]) {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        None => format!("{done}/1"),
    };
    let start = unix(seen.text(&["status", "startTime"]));
    let now = i64::try_from(seen.now.as_secs()).unwrap_or(i64::MAX);
    let end = unix(seen.text(&["status", "completionTime"])).unwrap_or(now);
    let duration = start.map(|start| span(end - start)).unwrap_or_default();
    cells.extend([state.into(), completions.into(), duration.into(), seen.age()]);
    cells.extend(seen.containers(&TEMPLATE));
    cells.push(seen.selector(&["spec", "selector"]));
}

fn cron_job(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let last = seen.text(&["status", "lastScheduleTime"]);
    let last = if last.is_empty() { "<none>".to_owned() } else { super::since(last, seen.now) };
    let suspended = match at(seen.object, &["spec", "suspend"]).and_then(Node::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    cells.extend([
        seen.text(&["spec", "schedule"]).into(),
        seen.text_or(&["spec", "timeZone"], "<none>"),
        suspended.into(),
        Node::Int(seen.count(&["status", "active"])),
        last.into(),
        seen.age(),
    ]);
    cells.extend(seen.containers(&["spec", "jobTemplate", "spec", "template", "spec", "containers"]));
    cells.push(seen.selector(&["spec", "jobTemplate", "spec", "selector"]));
}

fn scaler(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let target = |field: &str| seen.text(&["spec", "scaleTargetRef", field]);
    cells.extend([
        format!("{}/{}", target("kind"), target("name")).into(),
        metrics(seen).into(),
        seen.shown(&["spec", "minReplicas"], "<unset>"),
        Node::Int(seen.number(&["spec", "maxReplicas"])),
        Node::Int(seen.number(&["status", "currentReplicas"])),
        seen.age(),
    ]);
}

fn metrics(seen: &Seen<'_>) -> String {
    const MOST: usize = 2;
    let mut all: Vec<String> = Vec::new();
    if let Some(target) = number_at(seen.object, &["spec", "targetCPUUtilizationPercentage"]) {
        let current = number_at(seen.object, &["status", "currentCPUUtilizationPercentage"]);
        let current = current.map_or_else(|| "<unknown>".to_owned(), |current| format!("{current}%"));
        all.push(format!("cpu: {current}/{target}%"));
    }
    let currents = list_at(seen.object, &["status", "currentMetrics"]);
    for (index, metric) in list_at(seen.object, &["spec", "metrics"]).iter().enumerate() {
        all.push(one_metric(metric, currents.get(index)));
    }
    if all.is_empty() {
        return "<none>".to_owned();
    }
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let shown = all.join(", ");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}

fn one_metric(metric: &Node, current: Option<&Node>) -> String {
    let (field, named) = match text_at(metric, &["type"]) {
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "External" => ("external", false),
        _ => return "<unknown type>".to_owned(),
    };
    let amount = |node: Option<&Node>, path: &[&str]| match node.and_then(|node| at(node, path)) {
        Some(Node::Str(text)) => Some(text.to_string()),
        Some(Node::Int(value)) => Some(value.to_string()),
        _ => None,
    };
    let prefix = if named { format!("{}: ", text_at(metric, &[field, "name"])) } else { String::new() };
    let unknown = || "<unknown>".to_owned();
    if let Some(target) = amount(Some(metric), &[field, "target", "averageValue"]) {
        let now = amount(current, &[field, "current", "averageValue"]).unwrap_or_else(unknown);
        let average = if matches!(field, "object" | "external") { " (avg)" } else { "" };
        return format!("{prefix}{now}/{target}{average}");
    }
    if named {
        let percent = |text: String| format!("{text}%");
        let target = amount(Some(metric), &[field, "target", "averageUtilization"])
            .map_or_else(|| "<auto>".to_owned(), percent);
        let now = amount(current, &[field, "current", "averageUtilization"]).map_or_else(unknown, percent);
        return format!("{prefix}{now}/{target}");
    }
    let target = amount(Some(metric), &[field, "target", "value"]).unwrap_or_else(|| "0".to_owned());
    let now = amount(current, &[field, "current", "value"]).unwrap_or_else(unknown);
    format!("{now}/{target}")
}
