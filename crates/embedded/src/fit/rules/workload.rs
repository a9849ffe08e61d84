//! Rules for workloads, and for what scales and protects them.

use pintle_tree::Node;

use super::pod::{template_of, template_with};
use super::{Faults, Field, items, names, selector, selects};
use crate::fit::tree::{at, int, is_true, list, text};

/// A workload.
pub(super) fn workload(kind: &str, object: &Node, faults: &mut Faults) {
    let field = Field::root("spec");
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    match kind {
        "Deployment" => deployment(spec, &field, faults),
        "StatefulSet" => stateful_set(spec, &field, faults),
        "DaemonSet" => daemon_set(spec, &field, faults),
        "ReplicaSet" => replica_set(spec, &field, faults),
        "ReplicationController" => replication_controller(spec, &field, faults),
        "Job" => job(spec, &field, faults),
        "CronJob" => cron_job(spec, &field, faults),
        "HorizontalPodAutoscaler" => autoscaler(spec, &field, faults),
        "PodDisruptionBudget" => budget(spec, &field, faults),
        _ => {}
    }
}

/// The selector of a workload, which selects something.
fn own_selector(spec: &Node, of: &str, field: &Field, faults: &mut Faults) {
    let place = field.child("selector");
    let Some(wanted) = at(spec, &["selector"]) else { return faults.required(&place, "") };
    selector(wanted, &place, faults);
    let is_empty = wanted.as_map().is_some_and(pintle_tree::Map::is_empty);
    if is_empty {
        faults.invalid(&place, wanted.clone(), &format!("empty selector is invalid for {of}"));
    }
}

/// Whether the selector could be read at all.
fn is_readable(spec: &Node) -> bool {
    let mut faults = Faults::default();
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &Field::root(""), &mut faults);
    }
    faults.causes.is_empty()
}

/// The template of a workload, which its selector selects.
fn own_template(spec: &Node, field: &Field, faults: &mut Faults) {
    let empty = Node::empty_map();
    let template = at(spec, &["template"]).unwrap_or(&empty);
    let field = field.child("template");
    let labels = at(template, &["metadata", "labels"]);
    let nothing = at(spec, &["selector"]).is_none();
    let is_empty = at(spec, &["selector"]).and_then(Node::as_map).is_some_and(pintle_tree::Map::is_empty);
    if !is_empty && (nothing || !at(spec, &["selector"]).is_some_and(|wanted| selects(wanted, labels))) {
        let detail = "`selector` does not match template `labels`";
        faults.invalid(&field.child("metadata").child("labels"), labels.cloned().unwrap_or_default(), detail);
    }
    let claims: Vec<&str> = list(spec, &["volumeClaimTemplates"])
        .iter()
        .map(|claim| text(claim, &["metadata", "name"]))
        .collect();
    template_with(template, &claims, &field, faults);
}

fn restarts_always(spec: &Node, field: &Field, faults: &mut Faults) {
    let place = field.child("template").child("spec");
    let policy = text(spec, &["template", "spec", "restartPolicy"]);
    if !policy.is_empty() && policy != "Always" {
        faults.not_supported(&place.child("restartPolicy"), policy, &["Always"]);
    }
    if at(spec, &["template", "spec", "activeDeadlineSeconds"]).is_some() {
        let detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
        faults.forbidden(&place.child("activeDeadlineSeconds"), detail);
    }
}

/// The selector and the template of what keeps its pods running. The server names the Deployment in both cases.
fn pods_that_restart(spec: &Node, field: &Field, faults: &mut Faults) {
    own_selector(spec, "deployment", field, faults);
    if is_readable(spec) {
        own_template(spec, field, faults);
        restarts_always(spec, field, faults);
    } else {
        let wanted = at(spec, &["selector"]).cloned().unwrap_or_default();
        faults.invalid(&field.child("selector"), wanted, "invalid label selector");
    }
}

fn deployment(spec: &Node, field: &Field, faults: &mut Faults) {
    faults.not_negative(spec, "replicas", field);
    pods_that_restart(spec, field, faults);
    strategy(spec, field, faults);
    faults.not_negative(spec, "minReadySeconds", field);
    faults.not_negative(spec, "revisionHistoryLimit", field);
    faults.not_negative(spec, "progressDeadlineSeconds", field);
    let ready = int(spec, &["minReadySeconds"]).unwrap_or(0);
    if let Some(deadline) = int(spec, &["progressDeadlineSeconds"]).filter(|deadline| *deadline <= ready) {
        faults.invalid(
            &field.child("progressDeadlineSeconds"),
            deadline,
            "must be greater than minReadySeconds",
        );
    }
}

const STRATEGY: [(&str, &str); 2] = [("type", "Type"), ("rollingUpdate", "RollingUpdate")];

fn strategy(spec: &Node, field: &Field, faults: &mut Faults) {
    let Some(strategy) = at(spec, &["strategy"]) else { return };
    let place = field.child("strategy");
    let rolling = at(strategy, &["rollingUpdate"]);
    match text(strategy, &["type"]) {
        "Recreate" => {
            if rolling.is_some() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                faults.forbidden(&place.child("rollingUpdate"), detail);
            }
        }
        "RollingUpdate" => match rolling {
            Some(rolling) => rolling_update(rolling, &place.child("rollingUpdate"), faults),
            None => {
                faults.required(&place.child("rollingUpdate"), "this should be defaulted and never be nil")
            }
        },
        _ => not_supported_shown(strategy, &place, &["Recreate", "RollingUpdate"], faults),
    }
}

fn not_supported_shown(strategy: &Node, field: &Field, words: &[&str], faults: &mut Faults) {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let message = format!(
        "Unsupported value: {}: supported values: {}",
        super::shown(strategy, &STRATEGY),
        words.join(", ")
    );
    faults.causes.push(crate::status::Cause {
        reason: "FieldValueNotSupported",
        message,
        field: field.0.clone(),
    });
}

fn rolling_update(rolling: &Node, field: &Field, faults: &mut Faults) {
    share(rolling, "maxUnavailable", field, faults);
    share(rolling, "maxSurge", field, faults);
    let is_zero = |name: &str| matches!(share_of(rolling, name), Some(0));
    if is_zero("maxUnavailable") && is_zero("maxSurge") {
        let value = at(rolling, &["maxUnavailable"]).cloned().unwrap_or_default();
        faults.invalid(&field.child("maxUnavailable"), value, "may not be 0 when `maxSurge` is 0");
    }
    is_at_most_all(rolling, "maxUnavailable", field, faults);
}

fn share_of(parent: &Node, name: &str) -> Option<i64> {
    match at(parent, &[name])? {
        Node::Int(number) => Some(*number),
        Node::Str(text) => text.as_str()?.strip_suffix('%')?.parse().ok(),
        _ => None,
    }
}

/// A number that is not negative, or a percentage.
fn share(parent: &Node, name: &str, field: &Field, faults: &mut Faults) {
    match at(parent, &[name]) {
        Some(Node::Int(number)) if *number < 0 => {
            faults.invalid(&field.child(name), *number, "must be greater than or equal to 0");
        }
        Some(Node::Str(text)) => {
            if let Some(fault) = names::percent(&text.to_str_lossy()) {
                faults.invalid(&field.child(name), text.clone(), fault);
            }
        }
        _ => {}
    }
}

fn is_at_most_all(parent: &Node, name: &str, field: &Field, faults: &mut Faults) {
    if let Some(Node::Str(text)) = at(parent, &[name])
        && share_of(parent, name).is_some_and(|share| share > 100)
    {
        faults.invalid(&field.child(name), text.clone(), "must not be greater than 100%");
    }
}

fn stateful_set(spec: &Node, field: &Field, faults: &mut Faults) {
    let policy = text(spec, &["podManagementPolicy"]);
    if !matches!(policy, "OrderedReady" | "Parallel") {
        faults.invalid(&field.child("podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'");
    }
    let empty = Node::empty_map();
    let strategy = at(spec, &["updateStrategy"]).unwrap_or(&empty);
    let place = field.child("updateStrategy");
    match text(strategy, &["type"]) {
        "OnDelete" => {
            if at(strategy, &["rollingUpdate"]).is_some() {
                let detail = "only allowed for updateStrategy 'RollingUpdate'";
                faults.invalid(&place.child("rollingUpdate"), strategy.clone(), detail);
            }
        }
        "RollingUpdate" => {
            if let Some(rolling) = at(strategy, &["rollingUpdate"]) {
                faults.not_negative(rolling, "partition", &place.child("rollingUpdate"));
            }
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            faults.invalid_shown(&place, &super::shown(strategy, &STRATEGY), detail);
        }
    }
    faults.not_negative(spec, "replicas", field);
    faults.not_negative(spec, "minReadySeconds", field);
    own_selector(spec, "statefulset", field, faults);
    if is_readable(spec) {
        own_template(spec, field, faults);
    } else {
        faults.invalid(&field.child("selector"), at(spec, &["selector"]).cloned().unwrap_or_default(), "");
    }
    restarts_always(spec, field, faults);
}

fn daemon_set(spec: &Node, field: &Field, faults: &mut Faults) {
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &field.child("selector"), faults);
        if wanted.as_map().is_some_and(pintle_tree::Map::is_empty) {
            faults.invalid(
                &field.child("selector"),
                wanted.clone(),
                "empty selector is invalid for daemonset",
            );
        }
    }
    own_template(spec, field, faults);
    restarts_always(spec, field, faults);
    faults.not_negative(spec, "minReadySeconds", field);
    let empty = Node::empty_map();
    let strategy = at(spec, &["updateStrategy"]).unwrap_or(&empty);
    let place = field.child("updateStrategy");
    match text(strategy, &["type"]) {
        "OnDelete" => {}
        "RollingUpdate" => {
            let place = place.child("rollingUpdate");
            let Some(rolling) = at(strategy, &["rollingUpdate"]) else { return faults.required(&place, "") };
            share(rolling, "maxUnavailable", &place, faults);
            share(rolling, "maxSurge", &place, faults);
            let (unavailable, surge) = (share_of(rolling, "maxUnavailable"), share_of(rolling, "maxSurge"));
            if unavailable == Some(0) && surge == Some(0) {
                faults.required(&place.child("maxUnavailable"), "cannot be 0 when maxSurge is 0");
            }
            if unavailable.is_some_and(|share| share > 0) && surge.is_some_and(|share| share > 0) {
                let value = at(rolling, &["maxSurge"]).cloned().unwrap_or_default();
                faults.invalid(
                    &place.child("maxSurge"),
                    value,
                    "may not be set when maxUnavailable is non-zero",
                );
            }
        }
        _ => not_supported_shown(strategy, &place, &["RollingUpdate", "OnDelete"], faults),
    }
    faults.not_negative(spec, "revisionHistoryLimit", field);
}

fn replica_set(spec: &Node, field: &Field, faults: &mut Faults) {
    faults.not_negative(spec, "replicas", field);
    faults.not_negative(spec, "minReadySeconds", field);
    pods_that_restart(spec, field, faults);
}

fn replication_controller(spec: &Node, field: &Field, faults: &mut Faults) {
    faults.not_negative(spec, "minReadySeconds", field);
    let wanted = at(spec, &["selector"]).and_then(Node::as_map).filter(|wanted| !wanted.is_empty());
    if wanted.is_none() {
        faults.required(&field.child("selector"), "");
    }
    faults.not_negative(spec, "replicas", field);
    let Some(template) = at(spec, &["template"]) else {
        return faults.required(&field.child("template"), "");
    };
    let labels = at(template, &["metadata", "labels"]);
    let has =
        |(key, value): (&pintle_tree::Str, &Node)| labels.and_then(|labels| labels.get(key)) == Some(value);
    if wanted.is_some_and(|wanted| !wanted.iter().all(has)) {
        let place = field.child("template").child("metadata").child("labels");
        let detail = "`selector` does not match template `labels`";
        faults.invalid(&place, labels.cloned().unwrap_or_default(), detail);
    }
    template_of(template, &field.child("template"), faults);
    restarts_always(spec, field, faults);
}

/// A job, but for its selector, which the server has made itself.
fn job(spec: &Node, field: &Field, faults: &mut Faults) {
    job_spec(spec, field, faults);
    let by_hand = is_true(spec, &["manualSelector"]);
    match at(spec, &["selector"]) {
        None => faults.required(&field.child("selector"), ""),
        Some(wanted) => {
            selector(wanted, &field.child("selector"), faults);
            let labels = at(spec, &["template", "metadata", "labels"]);
            if !selects(wanted, labels) {
                let place = field.child("template").child("metadata").child("labels");
                let detail = "`selector` does not match template `labels`";
                faults.invalid(&place, labels.cloned().unwrap_or_default(), detail);
            } else if !by_hand
                && at(wanted, &["matchLabels"]).and_then(Node::as_map).is_some_and(|all| all.len() > 1)
            {
                faults.invalid(&field.child("selector"), wanted.clone(), "`selector` not auto-generated");
            }
        }
    }
}

fn job_spec(spec: &Node, field: &Field, faults: &mut Faults) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "maxFailedIndexes",
    ] {
        faults.not_negative(spec, name, field);
    }
    let mode = text(spec, &["completionMode"]);
    if !mode.is_empty() {
        if !matches!(mode, "NonIndexed" | "Indexed") {
            faults.not_supported(&field.child("completionMode"), mode, &["NonIndexed", "Indexed"]);
        }
        if mode == "Indexed" && at(spec, &["completions"]).is_none() {
            faults.required(&field.child("completions"), "when completion mode is Indexed");
        }
    }
    let empty = Node::empty_map();
    template_of(at(spec, &["template"]).unwrap_or(&empty), &field.child("template"), faults);
    let policy = text(spec, &["template", "spec", "restartPolicy"]);
    let place = field.child("template").child("spec").child("restartPolicy");
    if matches!(policy, "" | "Always") {
        faults.required(&place, "valid values: \"OnFailure\", \"Never\"");
    } else if !matches!(policy, "OnFailure" | "Never") {
        faults.not_supported(&place, policy, &["OnFailure", "Never"]);
    }
}

fn cron_job(spec: &Node, field: &Field, faults: &mut Faults) {
    let (schedule, zone) = (text(spec, &["schedule"]), text(spec, &["timeZone"]));
    let place = field.child("schedule");
    if schedule.is_empty() {
        faults.required(&place, "");
    } else if schedule.contains("TZ") {
        faults.invalid(&place, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    } else if let Some(fault) = schedule_fault(schedule) {
        faults.invalid(&place, schedule, &fault);
    }
    if !zone.is_empty()
        && let Err(fault) = pintle_time::Zone::named(zone)
    {
        faults.invalid(&field.child("timeZone"), zone, &fault);
    }
    faults.not_negative(spec, "startingDeadlineSeconds", field);
    let policy = text(spec, &["concurrencyPolicy"]);
    faults.one_of(&field.child("concurrencyPolicy"), policy, &["Allow", "Forbid", "Replace"]);
    let empty = Node::empty_map();
    let template = at(spec, &["jobTemplate", "spec"]).unwrap_or(&empty);
    job_spec(template, &field.child("jobTemplate").child("spec"), faults);
    faults.not_negative(spec, "successfulJobsHistoryLimit", field);
    faults.not_negative(spec, "failedJobsHistoryLimit", field);
}

/// What is wrong with a schedule: five fields of numbers, ranges and steps, or a word for one.
fn schedule_fault(schedule: &str) -> Option<String> {
    const WORDS: [&str; 7] =
        ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
    if WORDS.contains(&schedule) || schedule.starts_with("@every ") {
        return None;
    }
    if schedule.starts_with('@') {
        return Some(format!("unrecognized descriptor: {schedule}"));
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Some(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    fields
        .iter()
        .zip(bounds)
        .find_map(|(field, bounds)| field.split(',').find_map(|part| part_fault(part, bounds)))
}

fn part_fault(part: &str, (least, most): (u32, u32)) -> Option<String> {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let number = |text: &str| text.parse::<u32>().ok();
    let is_word = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let ends: Vec<&str> = if range == "*" || range == "?" { Vec::new() } else { range.split('-').collect() };
    for end in &ends {
        match number(end) {
            Some(number) if number < least => {
                return Some(format!("beginning of range ({number}) below minimum ({least}): {part}"));
            }
            Some(number) if number > most => {
                return Some(format!("end of range ({number}) above maximum ({most}): {part}"));
            }
            None if !is_word(end) => {
                return Some(format!(
                    "failed to parse int from {end}: strconv.Atoi: parsing {end:?}: invalid syntax"
                ));
            }
            _ => {}
        }
    }
    match step.map(number) {
        Some(Some(0)) => Some(format!("step of range should be a positive number: {part}")),
        Some(None) => {
            let step = step.unwrap_or_default();
            Some(format!("failed to parse int from {step}: strconv.Atoi: parsing {step:?}: invalid syntax"))
        }
        _ => None,
    }
}

fn autoscaler(spec: &Node, field: &Field, faults: &mut Faults) {
    let (least, most) = (int(spec, &["minReplicas"]), int(spec, &["maxReplicas"]).unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < 1) {
        faults.invalid(&field.child("minReplicas"), least, "must be greater than or equal to 1");
    }
    let place = field.child("maxReplicas");
    match most {
        1.. => {}
        _ if faults.minor < 36 => faults.invalid(&place, most, "must be greater than 0"),
        0 => faults.required(&place, "must be set and greater than 0"),
        _ => faults.invalid(&place, most, "must be greater than or equal to 1"),
    }
    if least.is_some_and(|least| most < least) {
        faults.invalid(&place, most, "must be greater than or equal to `minReplicas`");
    }
    let place = field.child("scaleTargetRef");
    for name in ["kind", "name"] {
        if text(spec, &["scaleTargetRef", name]).is_empty() {
            faults.required(&place.child(name), "");
        }
    }
    let version = text(spec, &["scaleTargetRef", "apiVersion"]);
    if !version.contains('/') && text(spec, &["scaleTargetRef", "kind"]) != "ReplicationController" {
        faults.invalid(&place.child("apiVersion"), version, "apiVersion must specify API group");
    }
    let scales_from_outside = list(spec, &["metrics"])
        .iter()
        .any(|metric| matches!(text(metric, &["type"]), "Object" | "External"));
    for (place, metric) in items(spec, "metrics", field) {
        let kind = text(metric, &["type"]);
        let kinds = ["ContainerResource", "External", "Object", "Pods", "Resource"];
        // Two checks look at it.
        faults.one_of(&place.child("type"), kind, &kinds);
        faults.one_of(&place.child("type"), kind, &kinds);
        let has_target = ["averageUtilization", "averageValue", "value"]
            .iter()
            .any(|name| at(metric, &["resource", "target", name]).is_some());
        if kind == "Resource" && !has_target {
            let place = place.child("resource").child("target").child("averageUtilization");
            faults.required(&place, "must set either a target raw value or a target utilization");
        }
    }
    if least == Some(0) && !scales_from_outside {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        faults.forbidden(&field.child("metrics"), detail);
    }
}

fn budget(spec: &Node, field: &Field, faults: &mut Faults) {
    const FIELDS: [(&str, &str); 4] = [
        ("minAvailable", "MinAvailable"),
        ("selector", "Selector"),
        ("maxUnavailable", "MaxUnavailable"),
        ("unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy"),
    ];
    if at(spec, &["minAvailable"]).is_some() && at(spec, &["maxUnavailable"]).is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        faults.invalid_shown(field, &super::shown(spec, &FIELDS), detail);
    }
    for name in ["minAvailable", "maxUnavailable"] {
        share(spec, name, field, faults);
        is_at_most_all(spec, name, field, faults);
    }
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &field.child("selector"), faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_replicas_are_told_in_the_words_of_the_version() {
        let told = |minor: u16, most: i64| {
            let text =
                format!("maxReplicas: {most}\nscaleTargetRef: {{apiVersion: a/v1, kind: A, name: a}}\n");
            let mut faults = Faults::of(minor);
            autoscaler(&pintle_yaml::read(text.as_bytes()).unwrap(), &Field::root("spec"), &mut faults);
            faults.causes.into_iter().map(|cause| cause.message).collect::<Vec<_>>()
        };
        assert_eq!(told(35, 0), ["Invalid value: 0: must be greater than 0"]);
        assert_eq!(told(36, 0), ["Required value: must be set and greater than 0"]);
        assert_eq!(told(36, -1), ["Invalid value: -1: must be greater than or equal to 1"]);
        assert!(told(34, 1).is_empty());
    }
}
