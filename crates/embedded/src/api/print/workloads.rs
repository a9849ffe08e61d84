//! Table cells of workloads, autoscalers and disruption budgets.

use pintle_tree::Node;

use super::{PrintRow, span, unix};
use crate::api::meta::{at, list_at, number_at, text_at};

const TEMPLATE: [&str; 4] = ["spec", "template", "spec", "containers"];

pub(super) fn cells(kind: &str, row: &PrintRow<'_>) -> Option<Vec<Node>> {
    let status = |field: &str| row.number(&["status", field]);
    let wanted = row.number(&["spec", "replicas"]);
    let mut cells = vec![row.name()];
    match kind {
        "Deployment" => {
            cells.push(format!("{}/{wanted}", status("readyReplicas")).into());
            cells.extend(["updatedReplicas", "availableReplicas"].map(|field| Node::Int(status(field))));
            cells.push(row.age());
            cells.extend(row.containers(&TEMPLATE));
            cells.push(row.selector(&["spec", "selector"]));
        }
        "ReplicaSet" => {
            cells.extend([wanted, status("replicas"), status("readyReplicas")].map(Node::Int));
            cells.push(row.age());
            cells.extend(row.containers(&TEMPLATE));
            cells.push(row.selector(&["spec", "selector"]));
        }
        "StatefulSet" => {
            cells.extend([format!("{}/{wanted}", status("readyReplicas")).into(), row.age()]);
            cells.extend(row.containers(&TEMPLATE));
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
            cells.extend([row.labels(&["spec", "template", "spec", "nodeSelector"]), row.age()]);
            cells.extend(row.containers(&TEMPLATE));
            cells.push(row.selector(&["spec", "selector"]));
        }
        "Job" => job(row, &mut cells),
        "CronJob" => cron_job(row, &mut cells),
        "ControllerRevision" => {
            let owners = list_at(row.object, &["metadata", "ownerReferences"]);
            let is_controller = |owner: &&Node| owner.get("controller").and_then(Node::as_bool) == Some(true);
            let controller = owners.iter().find(is_controller).map(controller_name);
            cells.push(controller.unwrap_or_else(|| "<none>".to_owned()).into());
            cells.extend([Node::Int(row.number(&["revision"])), row.age()]);
        }
        "HorizontalPodAutoscaler" => scaler(row, &mut cells),
        "PodDisruptionBudget" => {
            cells.push(row.value_text(&["spec", "minAvailable"], "N/A"));
            cells.push(row.value_text(&["spec", "maxUnavailable"], "N/A"));
            cells.extend([Node::Int(status("disruptionsAllowed")), row.age()]);
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

fn job(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    // The order of `printJob`: the first that holds is shown, and a finished job is never `Terminating`.
    let states = [
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("", "Terminating"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    let holds = |kind: &str| if kind.is_empty() { row.is_deleted() } else { row.has_condition(kind) };
    let state = states.iter().find(|(kind, _)| holds(kind)).map_or("Running", |(_, state)| state);
    let done = row.number(&["status", "succeeded"]);
    let parallelism = row.number(&["spec", "parallelism"]);
    let completions = match number_at(row.object, &["spec", "completions"]) {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        None => format!("{done}/1"),
    };
    let start = unix(row.text(&["status", "startTime"]));
    let now = i64::try_from(row.now.as_secs()).unwrap_or(i64::MAX);
    let end = unix(row.text(&["status", "completionTime"])).unwrap_or(now);
    let duration = start.map(|start| span(end - start)).unwrap_or_default();
    cells.extend([state.into(), completions.into(), duration.into(), row.age()]);
    cells.extend(row.containers(&TEMPLATE));
    cells.push(row.selector(&["spec", "selector"]));
}

fn cron_job(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    let last = row.text(&["status", "lastScheduleTime"]);
    let last = if last.is_empty() { "<none>".to_owned() } else { super::since(last, row.now) };
    let suspended = match at(row.object, &["spec", "suspend"]).and_then(Node::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    cells.extend([
        row.text(&["spec", "schedule"]).into(),
        row.text_or(&["spec", "timeZone"], "<none>"),
        suspended.into(),
        Node::Int(row.count(&["status", "active"])),
        last.into(),
        row.age(),
    ]);
    cells.extend(row.containers(&["spec", "jobTemplate", "spec", "template", "spec", "containers"]));
    cells.push(row.selector(&["spec", "jobTemplate", "spec", "selector"]));
}

fn scaler(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    let target = |field: &str| row.text(&["spec", "scaleTargetRef", field]);
    cells.extend([
        format!("{}/{}", target("kind"), target("name")).into(),
        metrics(row).into(),
        row.value_text(&["spec", "minReplicas"], "<unset>"),
        Node::Int(row.number(&["spec", "maxReplicas"])),
        Node::Int(row.number(&["status", "currentReplicas"])),
        row.age(),
    ]);
}

fn metrics(row: &PrintRow<'_>) -> String {
    // As in `formatHPAMetrics`.
    const MOST: usize = 2;
    let mut all: Vec<String> = Vec::new();
    if let Some(target) = number_at(row.object, &["spec", "targetCPUUtilizationPercentage"]) {
        let current = number_at(row.object, &["status", "currentCPUUtilizationPercentage"]);
        let current = current.map_or_else(|| "<unknown>".to_owned(), |current| format!("{current}%"));
        all.push(format!("cpu: {current}/{target}%"));
    }
    let currents = list_at(row.object, &["status", "currentMetrics"]);
    for (index, metric) in list_at(row.object, &["spec", "metrics"]).iter().enumerate() {
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
