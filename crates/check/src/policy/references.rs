//! Rules for objects that refer to each other. A chart may refer to objects that others create, so most of these are warnings.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, Str};

use super::{Pod, number, selects, text};
use crate::document::{Object, get};
use crate::run::Scope;

pub(super) fn check(scope: &mut Scope<'_, '_>) {
    let pods = Pods::of(scope.objects());
    for object in scope.objects() {
        match object.name.kind.as_str() {
            "Service" => service(scope, object, &pods),
            "Ingress" => ingress(scope, object),
            "HorizontalPodAutoscaler" => autoscaler(scope, object),
            "NetworkPolicy" => selected(scope, object, &pods, "podSelector", "dangling-networkpolicy"),
            "PodDisruptionBudget" => {
                selected(scope, object, &pods, "selector", "dangling-poddisruptionbudget");
                budget(scope, object, &pods);
            }
            _ => {}
        }
    }
}

/// All pods, found by their labels. What a repository of charts renders can have thousands.
struct Pods<'o> {
    pods: Vec<Pod<'o>>,
    by_label: BTreeMap<(&'o Str, &'o str), Vec<usize>>,
}

impl<'o> Pods<'o> {
    fn of(objects: &'o [Object]) -> Self {
        let pods: Vec<Pod<'o>> = objects.iter().filter_map(Pod::of).collect();
        let mut by_label: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (index, pod) in pods.iter().enumerate() {
            for (key, value) in pod.labels().and_then(Node::as_map).into_iter().flat_map(Map::iter) {
                if let Some(value) = value.as_str() {
                    by_label.entry((key, value)).or_default().push(index);
                }
            }
        }
        Pods { pods, by_label }
    }

    /// The pods that have all labels of a map.
    fn selected(&self, selector: &Node) -> Vec<&Pod<'o>> {
        let entries = selector.as_map().into_iter().flat_map(Map::iter);
        let with = entries.map(|(key, value)| {
            value.as_str().and_then(|value| self.by_label.get(&(key, value))).map_or(&[][..], Vec::as_slice)
        });
        // Only pods with the rarest label need a closer look. A label that is no text fits none.
        let rarest = with.min_by_key(|pods| pods.len()).unwrap_or_default();
        let pods = rarest.iter().map(|index| &self.pods[*index]);
        pods.filter(|pod| selects(selector, pod.labels())).collect()
    }
}

fn service(scope: &mut Scope<'_, '_>, object: &Object, pods: &Pods<'_>) {
    let Some(selector) = object.get(&["spec", "selector"]) else { return };
    if selector.as_map().is_none_or(|selector| selector.is_empty()) {
        return;
    }
    let matching = pods.selected(selector);
    if matching.is_empty() {
        let message = format!("no pods have the labels {}", labels(selector));
        scope.add("dangling-service", object, "/spec/selector", message);
        return;
    }
    let ports = object.get(&["spec", "ports"]).and_then(Node::as_list).unwrap_or_default();
    for (index, port) in ports.iter().enumerate() {
        let Some(wanted @ Node::Str(name)) = port.get("targetPort") else { continue };
        let is_number = name.as_str().is_some_and(|name| name.parse::<u16>().is_ok());
        let has = |pod: &&&Pod<'_>| {
            pod.containers(true)
                .any(|container| container.list("ports").iter().any(|port| port.get("name") == Some(wanted)))
        };
        if !is_number && !matching.iter().any(|pod| has(&pod)) {
            let message = format!("no container of the pods has a port named {:?}", name.to_str_lossy());
            scope.add("invalid-target-ports", object, &format!("/spec/ports/{index}/targetPort"), message);
        }
    }
}

fn labels(selector: &Node) -> String {
    let entries = selector.as_map().into_iter().flat_map(|map| map.iter());
    let shown: Vec<String> =
        entries.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("?"))).collect();
    shown.join(", ")
}

fn ingress(scope: &mut Scope<'_, '_>, object: &Object) {
    let default = object.get(&["spec", "defaultBackend"]).map(|it| ("/spec/defaultBackend".to_owned(), it));
    let mut backends: Vec<(String, &Node)> = default.into_iter().collect();
    let rules = object.get(&["spec", "rules"]).and_then(Node::as_list).unwrap_or_default();
    for (rule, node) in rules.iter().enumerate() {
        let paths = get(node, &["http", "paths"]).and_then(Node::as_list).unwrap_or_default();
        for (path, node) in paths.iter().enumerate() {
            let pointer = format!("/spec/rules/{rule}/http/paths/{path}/backend");
            backends.extend(node.get("backend").map(|backend| (pointer, backend)));
        }
    }
    for (pointer, backend) in backends {
        let name = text(backend, &["service", "name"]);
        // Controllers take actions from annotations under names that are no Services.
        if name.is_empty()
            || get(backend, &["service", "port", "name"]).and_then(Node::as_str) == Some("use-annotation")
        {
            continue;
        }
        let is_it = |it: &&Object| it.name.kind == "Service" && it.name.name == name;
        let message = match scope.objects().iter().find(is_it) {
            None => Some(format!("the chart has no Service {name:?}")),
            Some(service) => missing_port(service, backend),
        };
        if let Some(message) = message {
            scope.add("dangling-ingress", object, &pointer, message);
        }
    }
}

fn missing_port(service: &Object, backend: &Node) -> Option<String> {
    let ports = service.get(&["spec", "ports"]).and_then(Node::as_list)?;
    let wanted = get(backend, &["service", "port"])?;
    let found = match (wanted.get("name"), wanted.get("number").and_then(number)) {
        (Some(name), _) => ports.iter().any(|port| port.get("name") == Some(name)),
        (None, Some(wanted)) => ports.iter().any(|port| port.get("port").and_then(number) == Some(wanted)),
        (None, None) => true,
    };
    let shown = match wanted.get("name").and_then(Node::as_str) {
        Some(name) => name.to_owned(),
        None => wanted.get("number").and_then(number).unwrap_or_default().to_string(),
    };
    (!found).then(|| format!("the Service {:?} has no port {shown}", service.name.name))
}

fn autoscaler(scope: &mut Scope<'_, '_>, object: &Object) {
    let Some(target) = object.get(&["spec", "scaleTargetRef"]) else { return };
    let (kind, name) = (text(target, &["kind"]), text(target, &["name"]));
    let exists = scope.objects().iter().any(|it| it.name.kind == kind && it.name.name == name);
    if !exists {
        let message = format!("the chart has no {kind} {name:?}");
        scope.add("dangling-horizontalpodautoscaler", object, "/spec/scaleTargetRef", message);
    }
}

/// An object whose selector should match pods.
fn selected(scope: &mut Scope<'_, '_>, object: &Object, pods: &Pods<'_>, field: &str, rule: &'static str) {
    let Some(selector) = object.get(&["spec", field]) else { return };
    // Expressions, and an empty selector, may match anything.
    let expressions = selector.get("matchExpressions").and_then(Node::as_list).unwrap_or_default();
    let Some(wanted) = selector.get("matchLabels").filter(|_| expressions.is_empty()) else { return };
    let is_empty = wanted.as_map().is_none_or(|wanted| wanted.is_empty());
    if !is_empty && pods.selected(wanted).is_empty() {
        let message = format!("no pods have the labels {}", labels(wanted));
        scope.add(rule, object, &format!("/spec/{field}"), message);
    }
}

fn budget(scope: &mut Scope<'_, '_>, object: &Object, pods: &Pods<'_>) {
    let amount = |field: &str| object.get(&["spec", field]);
    let is = |node: &Node, words: &[&str]| node.as_str().is_some_and(|text| words.contains(&text));
    if let Some(limit) = amount("maxUnavailable")
        && (number(limit) == Some(0) || is(limit, &["0", "0%"]))
    {
        let message = "maxUnavailable is 0, so that no pod can be evicted".to_owned();
        scope.add("pdb-max-unavailable", object, "/spec/maxUnavailable", message);
    }
    let Some(minimum) = amount("minAvailable") else { return };
    let wanted = object.get(&["spec", "selector", "matchLabels"]);
    let replicas = wanted
        .map(|wanted| pods.selected(wanted))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|pod| pod.object.get(&["spec", "replicas"]).and_then(number))
        .max();
    let all =
        number(minimum).zip(replicas).is_some_and(|(minimum, replicas)| minimum >= replicas && replicas > 0);
    if is(minimum, &["100%"]) || all {
        let message = "minAvailable leaves no pod that can be evicted".to_owned();
        scope.add("pdb-min-available", object, "/spec/minAvailable", message);
    }
}
