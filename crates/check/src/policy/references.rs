//! Rules for objects that refer to each other. A chart may refer to objects that others create, so most of these are warnings.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Map, Node, Str};

use super::{Pod, number, selects, text};
use crate::document::{Document, Object, get};
use crate::scope::{Found, KindName, Scope};

/// What the rules need of all objects of a rendering, so that the objects themselves need not be kept.
#[derive(Default)]
pub(crate) struct Relations<'f> {
    names: BTreeSet<KindName>,
    pods: Vec<PodLabels>,
    /// Objects that refer to others, with their documents.
    referring: Vec<(Object, Document<'f, 'static>)>,
}

/// The parts of a pod that other objects refer to.
struct PodLabels {
    labels: Node,
    /// The names of the ports of its containers.
    ports: Vec<Str>,
    /// The replicas of its workload.
    replicas: Option<i64>,
}

impl PodLabels {
    fn of(object: &Object) -> Option<Self> {
        let pod = Pod::of(object)?;
        let of_container = |node: &Node| {
            let ports = node.get("ports").and_then(Node::as_list).unwrap_or_default();
            ports.iter().filter_map(|port| port.get("name")?.as_text().cloned()).collect::<Vec<Str>>()
        };
        Some(PodLabels {
            labels: pod.labels().cloned().unwrap_or_default(),
            ports: pod.containers(true).flat_map(|container| of_container(container.node)).collect(),
            replicas: object.get(&["spec", "replicas"]).and_then(number),
        })
    }
}

impl<'f> Relations<'f> {
    pub(crate) fn add(&mut self, object: &Object, document: &Document<'f, '_>) {
        self.names.insert((object.name.kind.clone(), object.name.name.clone()));
        self.pods.extend(PodLabels::of(object));
        let kind = object.name.kind.as_str();
        if matches!(kind, "Service" | "Ingress" | "NetworkPolicy" | "PodDisruptionBudget") {
            self.referring.push((object.clone(), document.keep()));
        }
    }

    pub(crate) fn append(&mut self, mut other: Relations<'f>) {
        // Unlike `append`, which builds the whole set again.
        self.names.extend(other.names);
        self.pods.append(&mut other.pods);
        self.referring.append(&mut other.referring);
    }

    /// Whether the rendering has an object.
    pub(crate) fn has(&self, name: &KindName) -> bool {
        self.names.contains(name)
    }

    /// Applies all rules.
    pub(crate) fn check(&self, scope: &mut Scope<'_>) -> Vec<Found> {
        let (pods, services) = (Pods::new(&self.pods), self.services());
        let mut found = Vec::new();
        for (object, document) in &self.referring {
            match object.name.kind.as_str() {
                "Service" => service(scope, object, &pods),
                "Ingress" => ingress(scope, object, &services),
                "NetworkPolicy" => selected(scope, object, &pods, "podSelector", "dangling-networkpolicy"),
                _ => {
                    selected(scope, object, &pods, "selector", "dangling-poddisruptionbudget");
                    budget(scope, object, &pods);
                }
            }
            found.extend(scope.take(document));
        }
        found
    }

    /// The first Service of each name.
    fn services(&self) -> BTreeMap<&str, &Object> {
        let mut services = BTreeMap::new();
        for (object, _) in self.referring.iter().filter(|(object, _)| object.name.kind == "Service") {
            services.entry(object.name.name.as_str()).or_insert(object);
        }
        services
    }
}

/// All pods, indexed by label: a repository of charts can render thousands of them.
struct Pods<'o> {
    pods: &'o [PodLabels],
    by_label: BTreeMap<(&'o Str, &'o str), Vec<usize>>,
}

impl<'o> Pods<'o> {
    fn new(pods: &'o [PodLabels]) -> Self {
        let mut by_label: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (index, pod) in pods.iter().enumerate() {
            for (key, value) in pod.labels.as_map().into_iter().flat_map(Map::iter) {
                if let Some(value) = value.as_str() {
                    by_label.entry((key, value)).or_default().push(index);
                }
            }
        }
        Pods { pods, by_label }
    }

    /// The pods that have all labels of a map.
    fn selected(&self, selector: &Node) -> Vec<&'o PodLabels> {
        let entries = selector.as_map().into_iter().flat_map(Map::iter);
        let with = entries.map(|(key, value)| {
            value.as_str().and_then(|value| self.by_label.get(&(key, value))).map_or(&[][..], Vec::as_slice)
        });
        // Only pods with the rarest label are compared in full. A label that is not a string matches none.
        let rarest = with.min_by_key(|pods| pods.len()).unwrap_or_default();
        let pods = rarest.iter().map(|index| &self.pods[*index]);
        pods.filter(|pod| selects(selector, Some(&pod.labels))).collect()
    }
}

fn service(scope: &mut Scope<'_>, object: &Object, pods: &Pods<'_>) {
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
        let Some(Node::Str(name)) = port.get("targetPort") else { continue };
        let is_number = name.as_str().is_some_and(|name| name.parse::<u16>().is_ok());
        if !is_number && !matching.iter().any(|pod| pod.ports.contains(name)) {
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

fn ingress(scope: &mut Scope<'_>, object: &Object, services: &BTreeMap<&str, &Object>) {
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
        // Ingress controllers read actions from annotations: with `use-annotation`, the name is not that of a Service.
        if name.is_empty()
            || get(backend, &["service", "port", "name"]).and_then(Node::as_str) == Some("use-annotation")
        {
            continue;
        }
        let message = match services.get(name) {
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

/// An autoscaler should scale a workload of the chart.
pub(super) fn autoscaler(scope: &mut Scope<'_>, object: &Object) {
    let Some(target) = object.get(&["spec", "scaleTargetRef"]).filter(|_| object.name.kind == SCALER) else {
        return;
    };
    let (kind, name) = (text(target, &["kind"]), text(target, &["name"]));
    let message = format!("the chart has no {kind} {name:?}");
    let missing = (kind.to_owned(), name.to_owned());
    scope.add_missing("dangling-horizontalpodautoscaler", object, "/spec/scaleTargetRef", message, missing);
}

const SCALER: &str = "HorizontalPodAutoscaler";

/// An object whose selector should match pods.
fn selected(scope: &mut Scope<'_>, object: &Object, pods: &Pods<'_>, field: &str, rule: &'static str) {
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

fn budget(scope: &mut Scope<'_>, object: &Object, pods: &Pods<'_>) {
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
    let selected = wanted.map(|wanted| pods.selected(wanted)).unwrap_or_default();
    let replicas = selected.into_iter().filter_map(|pod| pod.replicas).max();
    let all =
        number(minimum).zip(replicas).is_some_and(|(minimum, replicas)| minimum >= replicas && replicas > 0);
    if is(minimum, &["100%"]) || all {
        let message = "minAvailable leaves no pod that can be evicted".to_owned();
        scope.add("pdb-min-available", object, "/spec/minAvailable", message);
    }
}
