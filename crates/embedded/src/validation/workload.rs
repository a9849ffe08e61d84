//! Validation of workloads, HorizontalPodAutoscalers and PodDisruptionBudgets.

use pintle_tree::Node;

use super::pod::{template_of, template_with};
use super::{ErrorList, FieldPath, items, names, selector, selects};
use crate::fields::{at, int, is_true, list, text};

pub(super) fn workload(kind: &str, object: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("spec");
    let empty = Node::empty_map();
    // In Go a missing struct is one of zero values, so a missing spec is validated as an empty one.
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    match kind {
        "Deployment" => deployment(spec, &field, errors),
        "StatefulSet" => stateful_set(spec, &field, errors),
        "DaemonSet" => daemon_set(spec, &field, errors),
        "ReplicaSet" => replica_set(spec, &field, errors),
        "ReplicationController" => replication_controller(spec, &field, errors),
        "Job" => job(spec, &field, errors),
        "CronJob" => cron_job(spec, &field, errors),
        "HorizontalPodAutoscaler" => autoscaler(spec, &field, errors),
        "PodDisruptionBudget" => budget(spec, &field, errors),
        _ => {}
    }
}

/// The required, non-empty selector of a workload.
fn required_selector(spec: &Node, of: &str, field: &FieldPath, errors: &mut ErrorList) {
    let child_path = field.child("selector");
    let Some(wanted) = at(spec, &["selector"]) else { return errors.required(&child_path, "") };
    selector(wanted, &child_path, errors);
    let is_empty = wanted.as_map().is_some_and(pintle_tree::Map::is_empty);
    if is_empty {
        errors.invalid(&child_path, wanted.clone(), &format!("empty selector is invalid for {of}"));
    }
}

/// Whether the selector is valid; if not, matching it against the template is skipped.
fn has_valid_selector(spec: &Node) -> bool {
    let mut errors = ErrorList::default();
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &FieldPath::root(""), &mut errors);
    }
    errors.causes.is_empty()
}

/// The pod template, whose labels the selector must match.
fn matching_template(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let empty = Node::empty_map();
    let template = at(spec, &["template"]).unwrap_or(&empty);
    let field = field.child("template");
    let labels = at(template, &["metadata", "labels"]);
    // A missing selector cannot match, an empty one is reported elsewhere.
    let nothing = at(spec, &["selector"]).is_none();
    let is_empty = at(spec, &["selector"]).and_then(Node::as_map).is_some_and(pintle_tree::Map::is_empty);
    if !is_empty && (nothing || !at(spec, &["selector"]).is_some_and(|wanted| selects(wanted, labels))) {
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&field.child("metadata").child("labels"), labels.cloned().unwrap_or_default(), detail);
    }
    let claims: Vec<&str> = list(spec, &["volumeClaimTemplates"])
        .iter()
        .map(|claim| text(claim, &["metadata", "name"]))
        .collect();
    template_with(template, &claims, &field, errors);
}

fn restarts_always(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let child_path = field.child("template").child("spec");
    let policy = text(spec, &["template", "spec", "restartPolicy"]);
    if !policy.is_empty() && policy != "Always" {
        errors.not_supported(&child_path.child("restartPolicy"), policy, &["Always"]);
    }
    if at(spec, &["template", "spec", "activeDeadlineSeconds"]).is_some() {
        // The server's text for all kinds: its checks of Deployments and the like call the one of ReplicaSets.
        let detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.forbidden(&child_path.child("activeDeadlineSeconds"), detail);
    }
}

/// Selector and template of a workload with `restartPolicy: Always`. The server's messages name the Deployment for
/// other kinds, too.
fn restarting_pods(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    required_selector(spec, "deployment", field, errors);
    if has_valid_selector(spec) {
        matching_template(spec, field, errors);
        restarts_always(spec, field, errors);
    } else {
        let wanted = at(spec, &["selector"]).cloned().unwrap_or_default();
        errors.invalid(&field.child("selector"), wanted, "invalid label selector");
    }
}

fn deployment(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    errors.not_negative(spec, "replicas", field);
    restarting_pods(spec, field, errors);
    strategy(spec, field, errors);
    errors.not_negative(spec, "minReadySeconds", field);
    errors.not_negative(spec, "revisionHistoryLimit", field);
    errors.not_negative(spec, "progressDeadlineSeconds", field);
    let ready = int(spec, &["minReadySeconds"]).unwrap_or(0);
    if let Some(deadline) = int(spec, &["progressDeadlineSeconds"]).filter(|deadline| *deadline <= ready) {
        errors.invalid(
            &field.child("progressDeadlineSeconds"),
            deadline,
            "must be greater than minReadySeconds",
        );
    }
}

/// The names of the Go fields, which the server shows in errors.
const STRATEGY: [(&str, &str); 2] = [("type", "Type"), ("rollingUpdate", "RollingUpdate")];

fn strategy(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let Some(strategy) = at(spec, &["strategy"]) else { return };
    let child_path = field.child("strategy");
    let rolling = at(strategy, &["rollingUpdate"]);
    match text(strategy, &["type"]) {
        "Recreate" => {
            if rolling.is_some() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                errors.forbidden(&child_path.child("rollingUpdate"), detail);
            }
        }
        "RollingUpdate" => match rolling {
            Some(rolling) => rolling_update(rolling, &child_path.child("rollingUpdate"), errors),
            None => errors
                .required(&child_path.child("rollingUpdate"), "this should be defaulted and never be nil"),
        },
        _ => not_supported_struct(strategy, &child_path, &["Recreate", "RollingUpdate"], errors),
    }
}

fn not_supported_struct(strategy: &Node, field: &FieldPath, words: &[&str], errors: &mut ErrorList) {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let message = format!(
        "Unsupported value: {}: supported values: {}",
        super::format_struct(strategy, &STRATEGY),
        words.join(", ")
    );
    errors.causes.push(crate::status::StatusCause {
        reason: "FieldValueNotSupported",
        message,
        field: field.0.clone(),
    });
}

fn rolling_update(rolling: &Node, field: &FieldPath, errors: &mut ErrorList) {
    validate_int_or_percent(rolling, "maxUnavailable", field, errors);
    validate_int_or_percent(rolling, "maxSurge", field, errors);
    let is_zero = |name: &str| matches!(int_or_percent(rolling, name), Some(0));
    if is_zero("maxUnavailable") && is_zero("maxSurge") {
        let value = at(rolling, &["maxUnavailable"]).cloned().unwrap_or_default();
        errors.invalid(&field.child("maxUnavailable"), value, "may not be 0 when `maxSurge` is 0");
    }
    at_most_100_percent(rolling, "maxUnavailable", field, errors);
}

fn int_or_percent(parent: &Node, name: &str) -> Option<i64> {
    match at(parent, &[name])? {
        Node::Int(number) => Some(*number),
        Node::Str(text) => text.as_str()?.strip_suffix('%')?.parse().ok(),
        _ => None,
    }
}

/// A non-negative integer or a percentage.
fn validate_int_or_percent(parent: &Node, name: &str, field: &FieldPath, errors: &mut ErrorList) {
    match at(parent, &[name]) {
        Some(Node::Int(number)) if *number < 0 => {
            errors.invalid(&field.child(name), *number, "must be greater than or equal to 0");
        }
        Some(Node::Str(text)) => {
            if let Some(problem) = names::percent(&text.to_str_lossy()) {
                errors.invalid(&field.child(name), text.clone(), problem);
            }
        }
        _ => {}
    }
}

fn at_most_100_percent(parent: &Node, name: &str, field: &FieldPath, errors: &mut ErrorList) {
    if let Some(Node::Str(text)) = at(parent, &[name])
        && int_or_percent(parent, name).is_some_and(|percent| percent > 100)
    {
        errors.invalid(&field.child(name), text.clone(), "must not be greater than 100%");
    }
}

fn stateful_set(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let policy = text(spec, &["podManagementPolicy"]);
    if !matches!(policy, "OrderedReady" | "Parallel") {
        errors.invalid(&field.child("podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'");
    }
    let empty = Node::empty_map();
    let strategy = at(spec, &["updateStrategy"]).unwrap_or(&empty);
    let child_path = field.child("updateStrategy");
    match text(strategy, &["type"]) {
        "OnDelete" => {
            if at(strategy, &["rollingUpdate"]).is_some() {
                let detail = "only allowed for updateStrategy 'RollingUpdate'";
                errors.invalid(&child_path.child("rollingUpdate"), strategy.clone(), detail);
            }
        }
        "RollingUpdate" => {
            if let Some(rolling) = at(strategy, &["rollingUpdate"]) {
                let child_path = child_path.child("rollingUpdate");
                errors.not_negative(rolling, "partition", &child_path);
                // Since 1.37 the feature gate `MaxUnavailableStatefulSet` is on; before, the field is dropped.
                if errors.minor >= 37 {
                    validate_int_or_percent(rolling, "maxUnavailable", &child_path, errors);
                    let value = at(rolling, &["maxUnavailable"]).cloned().unwrap_or_default();
                    // What is not a percentage counts as zero, too.
                    if !value.is_nil() && int_or_percent(rolling, "maxUnavailable").unwrap_or(0) == 0 {
                        errors.invalid(&child_path.child("maxUnavailable"), value, "cannot be 0");
                    }
                    at_most_100_percent(rolling, "maxUnavailable", &child_path, errors);
                }
            }
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.invalid_formatted(&child_path, &super::format_struct(strategy, &STRATEGY), detail);
        }
    }
    errors.not_negative(spec, "replicas", field);
    errors.not_negative(spec, "minReadySeconds", field);
    required_selector(spec, "statefulset", field, errors);
    if has_valid_selector(spec) {
        matching_template(spec, field, errors);
    } else {
        errors.invalid(&field.child("selector"), at(spec, &["selector"]).cloned().unwrap_or_default(), "");
    }
    restarts_always(spec, field, errors);
}

fn daemon_set(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &field.child("selector"), errors);
        if wanted.as_map().is_some_and(pintle_tree::Map::is_empty) {
            errors.invalid(
                &field.child("selector"),
                wanted.clone(),
                "empty selector is invalid for daemonset",
            );
        }
    }
    matching_template(spec, field, errors);
    restarts_always(spec, field, errors);
    errors.not_negative(spec, "minReadySeconds", field);
    let empty = Node::empty_map();
    let strategy = at(spec, &["updateStrategy"]).unwrap_or(&empty);
    let child_path = field.child("updateStrategy");
    match text(strategy, &["type"]) {
        "OnDelete" => {}
        "RollingUpdate" => {
            let child_path = child_path.child("rollingUpdate");
            let Some(rolling) = at(strategy, &["rollingUpdate"]) else {
                return errors.required(&child_path, "");
            };
            validate_int_or_percent(rolling, "maxUnavailable", &child_path, errors);
            validate_int_or_percent(rolling, "maxSurge", &child_path, errors);
            let (unavailable, surge) =
                (int_or_percent(rolling, "maxUnavailable"), int_or_percent(rolling, "maxSurge"));
            if unavailable == Some(0) && surge == Some(0) {
                errors.required(&child_path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0");
            }
            if unavailable.is_some_and(|number| number > 0) && surge.is_some_and(|number| number > 0) {
                let value = at(rolling, &["maxSurge"]).cloned().unwrap_or_default();
                errors.invalid(
                    &child_path.child("maxSurge"),
                    value,
                    "may not be set when maxUnavailable is non-zero",
                );
            }
        }
        _ => not_supported_struct(strategy, &child_path, &["RollingUpdate", "OnDelete"], errors),
    }
    errors.not_negative(spec, "revisionHistoryLimit", field);
}

fn replica_set(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    errors.not_negative(spec, "replicas", field);
    errors.not_negative(spec, "minReadySeconds", field);
    restarting_pods(spec, field, errors);
}

fn replication_controller(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    errors.not_negative(spec, "minReadySeconds", field);
    let wanted = at(spec, &["selector"]).and_then(Node::as_map).filter(|wanted| !wanted.is_empty());
    if wanted.is_none() {
        errors.required(&field.child("selector"), "");
    }
    errors.not_negative(spec, "replicas", field);
    let Some(template) = at(spec, &["template"]) else {
        return errors.required(&field.child("template"), "");
    };
    let labels = at(template, &["metadata", "labels"]);
    let has =
        |(key, value): (&pintle_tree::Str, &Node)| labels.and_then(|labels| labels.get(key)) == Some(value);
    if wanted.is_some_and(|wanted| !wanted.iter().all(has)) {
        let child_path = field.child("template").child("metadata").child("labels");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&child_path, labels.cloned().unwrap_or_default(), detail);
    }
    template_of(template, &field.child("template"), errors);
    restarts_always(spec, field, errors);
}

/// A Job. Its selector was generated by admission, unless `manualSelector` is set.
fn job(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    job_spec(spec, field, errors);
    let by_hand = is_true(spec, &["manualSelector"]);
    match at(spec, &["selector"]) {
        None => errors.required(&field.child("selector"), ""),
        Some(wanted) => {
            selector(wanted, &field.child("selector"), errors);
            let labels = at(spec, &["template", "metadata", "labels"]);
            if !selects(wanted, labels) {
                let child_path = field.child("template").child("metadata").child("labels");
                let detail = "`selector` does not match template `labels`";
                errors.invalid(&child_path, labels.cloned().unwrap_or_default(), detail);
            } else if !by_hand
                && at(wanted, &["matchLabels"]).and_then(Node::as_map).is_some_and(|all| all.len() > 1)
            {
                errors.invalid(&field.child("selector"), wanted.clone(), "`selector` not auto-generated");
            }
        }
    }
}

fn job_spec(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "maxFailedIndexes",
    ] {
        errors.not_negative(spec, name, field);
    }
    let mode = text(spec, &["completionMode"]);
    if !mode.is_empty() {
        if !matches!(mode, "NonIndexed" | "Indexed") {
            errors.not_supported(&field.child("completionMode"), mode, &["NonIndexed", "Indexed"]);
        }
        if mode == "Indexed" && at(spec, &["completions"]).is_none() {
            errors.required(&field.child("completions"), "when completion mode is Indexed");
        }
    }
    let empty = Node::empty_map();
    template_of(at(spec, &["template"]).unwrap_or(&empty), &field.child("template"), errors);
    let policy = text(spec, &["template", "spec", "restartPolicy"]);
    let child_path = field.child("template").child("spec").child("restartPolicy");
    if matches!(policy, "" | "Always") {
        errors.required(&child_path, "valid values: \"OnFailure\", \"Never\"");
    } else if !matches!(policy, "OnFailure" | "Never") {
        errors.not_supported(&child_path, policy, &["OnFailure", "Never"]);
    }
}

fn cron_job(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let (schedule, zone) = (text(spec, &["schedule"]), text(spec, &["timeZone"]));
    let child_path = field.child("schedule");
    if schedule.is_empty() {
        errors.required(&child_path, "");
    // As the server: any `TZ` counts, because robfig/cron takes it at the beginning and with either name.
    } else if schedule.contains("TZ") {
        errors.invalid(
            &child_path,
            schedule,
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        );
    } else if let Some(problem) = schedule_error(schedule) {
        errors.invalid(&child_path, schedule, &problem);
    }
    if !zone.is_empty()
        && let Err(problem) = pintle_time::Zone::named(zone)
    {
        errors.invalid(&field.child("timeZone"), zone, &problem);
    }
    errors.not_negative(spec, "startingDeadlineSeconds", field);
    let policy = text(spec, &["concurrencyPolicy"]);
    errors.one_of(&field.child("concurrencyPolicy"), policy, &["Allow", "Forbid", "Replace"]);
    let empty = Node::empty_map();
    let template = at(spec, &["jobTemplate", "spec"]).unwrap_or(&empty);
    job_spec(template, &field.child("jobTemplate").child("spec"), errors);
    errors.not_negative(spec, "successfulJobsHistoryLimit", field);
    errors.not_negative(spec, "failedJobsHistoryLimit", field);
}

/// The problem of a cron schedule.
fn schedule_error(schedule: &str) -> Option<String> {
    // The descriptors of robfig/cron, and its messages: the real server parses schedules with that library.
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
    // Unlike in other crons, 7 is not Sunday.
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    fields
        .iter()
        .zip(bounds)
        .find_map(|(field, bounds)| field.split(',').find_map(|part| field_error(part, bounds)))
}

fn field_error(part: &str, (least, most): (u32, u32)) -> Option<String> {
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

fn autoscaler(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let (least, most) = (int(spec, &["minReplicas"]), int(spec, &["maxReplicas"]).unwrap_or(0));
    // Since 1.37 the feature gate `HPAScaleToZero` is on.
    let bound = if errors.minor < 37 { 1 } else { 0 };
    if let Some(least) = least.filter(|least| *least < bound) {
        let detail = format!("must be greater than or equal to {bound}");
        errors.invalid(&field.child("minReplicas"), least, &detail);
    }
    let child_path = field.child("maxReplicas");
    match most {
        1.. => {}
        _ if errors.minor < 36 => errors.invalid(&child_path, most, "must be greater than 0"),
        0 => errors.required(&child_path, "must be set and greater than 0"),
        _ => errors.invalid(&child_path, most, "must be greater than or equal to 1"),
    }
    if least.is_some_and(|least| most < least) {
        errors.invalid(&child_path, most, "must be greater than or equal to `minReplicas`");
    }
    let child_path = field.child("scaleTargetRef");
    for name in ["kind", "name"] {
        if text(spec, &["scaleTargetRef", name]).is_empty() {
            errors.required(&child_path.child(name), "");
        }
    }
    let version = text(spec, &["scaleTargetRef", "apiVersion"]);
    if !version.contains('/') && text(spec, &["scaleTargetRef", "kind"]) != "ReplicationController" {
        errors.invalid(&child_path.child("apiVersion"), version, "apiVersion must specify API group");
    }
    let scales_from_outside = list(spec, &["metrics"])
        .iter()
        .any(|metric| matches!(text(metric, &["type"]), "Object" | "External"));
    for (child_path, metric) in items(spec, "metrics", field) {
        let kind = text(metric, &["type"]);
        let kinds = ["ContainerResource", "External", "Object", "Pods", "Resource"];
        // The server validates this twice and reports it twice.
        errors.one_of(&child_path.child("type"), kind, &kinds);
        errors.one_of(&child_path.child("type"), kind, &kinds);
        let has_target = ["averageUtilization", "averageValue", "value"]
            .iter()
            .any(|name| at(metric, &["resource", "target", name]).is_some());
        if kind == "Resource" && !has_target {
            let child_path = child_path.child("resource").child("target").child("averageUtilization");
            errors.required(&child_path, "must set either a target raw value or a target utilization");
        }
    }
    // Before 1.37 in addition to the error above, which is due to the feature gate being off: the server checks both.
    if least == Some(0) && !scales_from_outside {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(&field.child("metrics"), detail);
    }
}

fn budget(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    const FIELDS: [(&str, &str); 4] = [
        ("minAvailable", "MinAvailable"),
        ("selector", "Selector"),
        ("maxUnavailable", "MaxUnavailable"),
        ("unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy"),
    ];
    if at(spec, &["minAvailable"]).is_some() && at(spec, &["maxUnavailable"]).is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.invalid_formatted(field, &super::format_struct(spec, &FIELDS), detail);
    }
    for name in ["minAvailable", "maxUnavailable"] {
        validate_int_or_percent(spec, name, field, errors);
        at_most_100_percent(spec, name, field, errors);
    }
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &field.child("selector"), errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_replicas_depend_on_the_version() {
        let messages = |minor: u16, most: i64| {
            let text =
                format!("maxReplicas: {most}\nscaleTargetRef: {{apiVersion: a/v1, kind: A, name: a}}\n");
            let mut errors = ErrorList::new(minor);
            autoscaler(&pintle_yaml::read(text.as_bytes()).unwrap(), &FieldPath::root("spec"), &mut errors);
            errors.causes.into_iter().map(|cause| cause.message).collect::<Vec<_>>()
        };
        assert_eq!(messages(35, 0), ["Invalid value: 0: must be greater than 0"]);
        assert_eq!(messages(36, 0), ["Required value: must be set and greater than 0"]);
        assert_eq!(messages(36, -1), ["Invalid value: -1: must be greater than or equal to 1"]);
        assert!(messages(34, 1).is_empty());
    }
}
