//! The ResourceQuota admission plugin and controller. Quotas with scopes are ignored.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node};
use tokio::sync::MutexGuard;

use super::inline_controllers::Queue;
use super::meta::{at, list_at, meta, set, text_at};
use super::{Api, Call, forbidden};
use crate::quantity::Quantity;
use crate::status::Status;
use crate::store::{Object, key, prefix};

/// The prefix of keys of ResourceQuotas.
const QUOTAS: &str = "resourcequotas";
/// The resources that can be counted by their plain name; all others need `count/`.
const PLAIN: [&str; 7] = [
    "pods",
    "services",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
];

/// Quantities by resource name.
type Amounts = BTreeMap<String, Quantity>;

impl Api {
    /// Rejects an object that would exceed a quota. The guard must be held until the object is stored, so that no
    /// other request takes the same slot.
    pub(super) async fn check_quotas(
        &self,
        call: &Call<'_>,
        object: &Node,
    ) -> Result<Option<MutexGuard<'_, ()>>, Status> {
        if call.namespace().is_empty() || !self.0.store.has(&prefix(QUOTAS, Some(call.namespace()))) {
            return Ok(None);
        }
        // Taken only where there are quotas: it would serialize all creates.
        let guard = self.0.quotas.lock().await;
        let kind = call.served.storage_prefix();
        for quota in self.quotas(call.namespace()) {
            let hard = hard(&quota);
            let requested: Amounts = hard
                .keys()
                .filter_map(|name| Some((name.clone(), amount(name, &kind, object)?)))
                .filter(|(_, amount)| !amount.is_zero())
                .collect();
            let name = meta(&quota, "name");
            if let Some(why) = unspecified(&hard, &kind, object) {
                return Err(forbidden(
                    call.served.resource(),
                    meta(object, "name"),
                    &format!("failed quota: {name}: must specify {why}"),
                ));
            }
            let used = self.used(call.namespace(), &hard);
            let is_over =
                |name: &String| Some(used.get(name)?.plus(requested.get(name)?).exceeds(hard.get(name)?));
            let over: Vec<&String> = requested.keys().filter(|name| is_over(name) == Some(true)).collect();
            if over.is_empty() {
                continue;
            }
            let [requested, used, limited] =
                [&requested, &used, &hard].map(|amounts| format_amounts(amounts, &over));
            let why =
                format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}");
            return Err(forbidden(call.served.resource(), meta(object, "name"), &why));
        }
        Ok(Some(guard))
    }

    /// Updates `status.used` of the quotas in a namespace.
    pub(super) async fn update_quota_usage(&self, object: &Object, queue: &mut Queue) -> Result<(), Status> {
        let text = object.key.to_str_lossy();
        let namespace = text.split('/').nth(1).unwrap_or_default();
        if namespace.is_empty() || !self.0.store.has(&prefix(QUOTAS, Some(namespace))) {
            return Ok(());
        }
        for quota in self.quotas(namespace) {
            let hard = hard(&quota);
            let used = self.used(namespace, &hard);
            let act = |quota: &mut Node| {
                let status = Node::Map(Map::from_iter([
                    ("hard".into(), to_node(&hard)),
                    ("used".into(), to_node(&used)),
                ]));
                let is_new = at(quota, &["status"]) != Some(&status);
                set(quota, &["status"], status);
                is_new
            };
            self.update_with_retry(&key(QUOTAS, namespace, meta(&quota, "name")), queue, act).await?;
        }
        Ok(())
    }

    fn quotas(&self, namespace: &str) -> Vec<Node> {
        let all = self.all_of(QUOTAS, namespace);
        let has_scopes = |quota: &Node| {
            ["scopes", "scopeSelector"].iter().any(|field| at(quota, &["spec", field]).is_some())
        };
        all.into_iter().filter(|quota| !has_scopes(quota)).collect()
    }

    fn all_of(&self, kind: &str, namespace: &str) -> Vec<Node> {
        let listing = self.0.store.list(&prefix(kind, Some(namespace)), None, usize::MAX, None, &|_| true);
        listing
            .map(|listing| listing.objects)
            .unwrap_or_default()
            .iter()
            .map(|object| object.node())
            .collect()
    }

    /// The usage of all limited resources.
    fn used(&self, namespace: &str, hard: &Amounts) -> Amounts {
        let used = |name: &String| {
            let kind = counted_kind(name);
            let amounts = self.all_of(kind, namespace);
            let amounts = amounts.iter().filter_map(|object| amount(name, kind, object));
            amounts.fold(Quantity::from_int(0), |sum, amount| sum.plus(&amount))
        };
        hard.keys().map(|name| (name.clone(), used(name))).collect()
    }
}

/// The limits of a quota.
fn hard(quota: &Node) -> Amounts {
    let entries = at(quota, &["spec", "hard"]).and_then(Node::as_map).into_iter().flat_map(Map::iter);
    entries
        .filter_map(|(name, value)| Some((name.to_str_lossy().into_owned(), Quantity::from_node(value)?)))
        .collect()
}

fn to_node(amounts: &Amounts) -> Node {
    Node::Map(
        amounts.iter().map(|(name, amount)| (name.as_str().into(), amount.canonical().into())).collect(),
    )
}

fn format_amounts(amounts: &Amounts, names: &[&String]) -> String {
    let parts = names.iter().filter_map(|name| Some(format!("{name}={}", amounts.get(*name)?.canonical())));
    parts.collect::<Vec<String>>().join(",")
}

/// The kind that a resource name counts.
fn counted_kind(name: &str) -> &str {
    match name.strip_prefix("count/") {
        Some(kind) => kind,
        None if name.starts_with("services.") => "services",
        None if name == "requests.storage" => "persistentvolumeclaims",
        None if PLAIN.contains(&name) => name,
        None => "pods",
    }
}

/// How much of the resource `name` an object uses; `None` if it does not count.
fn amount(name: &str, kind: &str, object: &Node) -> Option<Quantity> {
    if counted_kind(name) != kind {
        return None;
    }
    // A finished pod holds no resources of its node, so it gives back what it has used.
    let has_ended = || matches!(text_at(object, &["status", "phase"]), "Succeeded" | "Failed");
    match name {
        "services.loadbalancers" => {
            Some(Quantity::from_int(i64::from(text_at(object, &["spec", "type"]) == "LoadBalancer")))
        }
        "services.nodeports" => {
            let ports = list_at(object, &["spec", "ports"]).iter();
            let ports = ports.filter(|port| at(port, &["nodePort"]).is_some_and(|it| *it != Node::Int(0)));
            Some(Quantity::from_int(i64::try_from(ports.count()).unwrap_or(i64::MAX)))
        }
        "requests.storage" => Quantity::from_node(
            at(object, &["spec", "resources", "requests", "storage"]).unwrap_or(&Node::Int(0)),
        ),
        name if name.starts_with("count/") => Some(Quantity::from_int(1)),
        // After `count/pods`, which counts finished pods as well.
        _ if kind == "pods" && has_ended() => Some(Quantity::from_int(0)),
        name if PLAIN.contains(&name) => Some(Quantity::from_int(1)),
        name => {
            let (part, of) = compute(name);
            let requested = |container: &Node| Quantity::from_node(at(container, &["resources", part, of])?);
            let amounts = list_at(object, &["spec", "containers"]).iter().filter_map(requested);
            Some(amounts.fold(Quantity::from_int(0), |sum, amount| sum.plus(&amount)))
        }
    }
}

/// The field and the resource of a compute resource name: `cpu` is short for `requests.cpu`.
fn compute(name: &str) -> (&str, &str) {
    name.split_once('.')
        .filter(|(part, _)| matches!(*part, "requests" | "limits"))
        .unwrap_or(("requests", name))
}

/// The server's message about resources that containers must set because a quota limits them.
fn unspecified(hard: &Amounts, kind: &str, object: &Node) -> Option<String> {
    if kind != "pods" {
        return None;
    }
    let mut missing = Vec::new();
    for name in hard.keys().filter(|name| counted_kind(name) == "pods" && !PLAIN.contains(&name.as_str())) {
        let (part, of) = compute(name);
        if !matches!(of, "cpu" | "memory") || name.starts_with("count/") {
            continue;
        }
        let containers = ["containers", "initContainers"].into_iter();
        let containers = containers.flat_map(|field| list_at(object, &["spec", field]));
        let unset = containers.filter(|container| at(container, &["resources", part, of]).is_none());
        let mut names: Vec<&str> = unset.map(|container| text_at(container, &["name"])).collect();
        names.sort_unstable();
        if !names.is_empty() {
            missing.push(format!("{name} for: {}", names.join(",")));
        }
    }
    (!missing.is_empty()).then(|| missing.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Node {
        pintle_yaml::read(text.as_bytes()).unwrap()
    }

    fn usage(name: &str, kind: &str, object: &str) -> Option<String> {
        amount(name, kind, &read(object)).map(|amount| amount.canonical())
    }

    #[test]
    fn objects_use_the_resources_that_they_are() {
        assert_eq!(usage("configmaps", "configmaps", "{}").as_deref(), Some("1"));
        assert_eq!(usage("count/deployments.apps", "deployments.apps", "{}").as_deref(), Some("1"));
        assert_eq!(usage("pods", "configmaps", "{}"), None);
        assert_eq!(usage("pods", "pods", "status: {phase: Succeeded}").as_deref(), Some("0"));
        assert_eq!(usage("count/pods", "pods", "status: {phase: Succeeded}").as_deref(), Some("1"));
        let service = "spec: {type: LoadBalancer, ports: [{nodePort: 30000}, {port: 80}]}";
        assert_eq!(usage("services.nodeports", "services", service).as_deref(), Some("1"));
        assert_eq!(usage("services.loadbalancers", "services", service).as_deref(), Some("1"));
        let pod = "spec: {containers: [{name: a, resources: {requests: {cpu: 500m}}}, {name: b, resources: {requests: {cpu: '1'}}}]}";
        assert_eq!(usage("requests.cpu", "pods", pod).as_deref(), Some("1500m"));
        assert_eq!(usage("cpu", "pods", pod).as_deref(), Some("1500m"));
    }

    #[test]
    fn containers_must_set_what_a_quota_limits() {
        let hard = hard(&read("spec: {hard: {limits.cpu: '1', memory: 1Gi, pods: '3'}}"));
        let pod = read("spec: {containers: [{name: b, resources: {limits: {cpu: '1'}}}, {name: a}]}");
        let applied = "limits.cpu for: a; memory for: a,b";
        assert_eq!(unspecified(&hard, "pods", &pod).as_deref(), Some(applied));
        assert_eq!(unspecified(&hard, "services", &pod), None);
    }
}
