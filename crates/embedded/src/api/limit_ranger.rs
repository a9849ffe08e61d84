//! The LimitRanger admission plugin: default requests and limits, and the bounds of LimitRanges.

use std::collections::BTreeMap;

use pintle_tree::Node;

use super::meta::{at, is_deleted, list_at, map_at, meta, set, text_at};
use super::{Api, Call, forbidden};
use crate::quantity::Quantity;
use crate::status::Status;
use crate::store::prefix;

/// The prefix of keys of LimitRanges.
const LIMIT_RANGES: &str = "limitranges";
/// The annotation in which the plugin lists the defaults it has set.
const LIMIT_RANGER_ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Quantities by resource name.
type Amounts = BTreeMap<String, Quantity>;

impl Api {
    /// Sets default requests and limits of the containers of a new pod.
    pub(super) fn apply_limit_defaults(&self, call: &Call<'_>, pod: &mut Node) {
        if !call.served.is("", "Pod") {
            return;
        }
        for range in self.ranges(call.namespace()) {
            let mut applied = Vec::new();
            for (kind, word) in [("containers", "container"), ("initContainers", "init container")] {
                for index in 0..list_at(pod, &["spec", kind]).len() {
                    apply_container_defaults(&range, pod, kind, index, word, &mut applied);
                }
            }
            if !applied.is_empty() {
                let text = format!("LimitRanger plugin set: {}", applied.join("; "));
                set(pod, &["metadata", "annotations", LIMIT_RANGER_ANNOTATION], text);
            }
        }
    }

    /// Rejects an object outside the bounds. `before` is the live object of an update; pods are checked on create
    /// only, as their containers cannot change.
    pub(super) fn check_limits(
        &self,
        call: &Call<'_>,
        before: Option<&Node>,
        object: &Node,
    ) -> Result<(), Status> {
        let is_pod = call.served.is("", "Pod") && before.is_none();
        let is_claim = call.served.is("", "PersistentVolumeClaim") && !before.is_some_and(is_deleted);
        if !(is_pod || is_claim) || call.target.subresource.is_some() {
            return Ok(());
        }
        // All errors of the first LimitRange that is violated, but not those of the next one, as in the real plugin.
        for range in self.ranges(call.namespace()) {
            let mut violations = Vec::new();
            for limit in list_at(&range, &["spec", "limits"]) {
                check(limit, is_pod, object, &mut violations);
            }
            let why = match &violations[..] {
                [] => continue,
                [only] => only.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            return Err(forbidden(call.served.resource(), meta(object, "name"), &why));
        }
        Ok(())
    }

    fn ranges(&self, namespace: &str) -> Vec<Node> {
        let prefix = prefix(LIMIT_RANGES, Some(namespace));
        if namespace.is_empty() || !self.0.store.has(&prefix) {
            return Vec::new();
        }
        let listing = self.0.store.list(&prefix, None, usize::MAX, None, &|_| true);
        let objects = listing.map(|listing| listing.objects).unwrap_or_default();
        objects.iter().map(|range| range.node()).collect()
    }
}

/// Sets the defaults of one container and reports them in `applied`.
fn apply_container_defaults(
    range: &Node,
    pod: &mut Node,
    kind: &str,
    index: usize,
    word: &str,
    applied: &mut Vec<String>,
) {
    let Some(Node::List(containers)) = map_at(pod, &["spec"]).get_mut(kind) else { return };
    let Some(container) = containers.get_mut(index) else { return };
    let name = text_at(container, &["name"]).to_owned();
    for (of, from) in [("requests", "defaultRequest"), ("limits", "default")] {
        let mut defaults: BTreeMap<String, Node> = BTreeMap::new();
        let limits = list_at(range, &["spec", "limits"]).iter();
        for limit in limits.filter(|limit| text_at(limit, &["type"]) == "Container") {
            let amounts = at(limit, &[from]).and_then(Node::as_map);
            defaults.extend(
                amounts.into_iter().flat_map(|it| it.iter()).map(|(key, it)| (key.to_string(), it.clone())),
            );
        }
        defaults.retain(|what, _| at(container, &["resources", of, what]).is_none());
        if defaults.is_empty() {
            continue;
        }
        let what: Vec<&str> = defaults.keys().map(String::as_str).collect();
        applied.push(format!("{} {} for {word} {name}", what.join(", "), of.trim_end_matches('s')));
        for (what, amount) in defaults {
            set(container, &["resources", of, &what], amount);
        }
    }
}

/// Checks one entry of a LimitRange.
fn check(limit: &Node, is_pod: bool, object: &Node, violations: &mut Vec<String>) {
    let kind = text_at(limit, &["type"]);
    let mut check_usage = |requested: &ResourceUsage| {
        for (rule, check) in RULES {
            for (name, bound) in amounts(at(limit, &[rule])) {
                violations.extend(
                    check(&Bound { kind, name: &name, bound }, requested)
                        // Several containers often violate a bound with the same message; the server lists it once.
                        .filter(|text| !violations.contains(text)),
                );
            }
        }
    };
    match (kind, is_pod) {
        ("Container", true) => {
            let kinds = ["containers", "initContainers"];
            let containers = kinds.into_iter().flat_map(|kind| list_at(object, &["spec", kind]));
            containers.for_each(|container| check_usage(&ResourceUsage::from_container(container)));
        }
        ("Pod", true) => check_usage(&ResourceUsage::from_pod(object)),
        ("PersistentVolumeClaim", false) => {
            let requests = amounts(at(object, &["spec", "resources", "requests"]));
            // Claims only have requests; they count as limits too.
            check_usage(&ResourceUsage { limits: requests.clone(), requests, is_claim: true });
        }
        _ => {}
    }
}

/// Requests and limits of a container, a pod or a claim.
struct ResourceUsage {
    requests: Amounts,
    limits: Amounts,
    is_claim: bool,
}

impl ResourceUsage {
    fn from_container(container: &Node) -> ResourceUsage {
        let part = |of: &str| amounts(at(container, &["resources", of]));
        ResourceUsage { requests: part("requests"), limits: part("limits"), is_claim: false }
    }

    /// The total of a pod, as the scheduler computes it: init containers run one after another, so they count with
    /// their maximum, each on top of the sidecars started before it.
    fn from_pod(pod: &Node) -> ResourceUsage {
        let total = |of: &str| {
            let mut sum = Amounts::new();
            for container in list_at(pod, &["spec", "containers"]) {
                add(&mut sum, &amounts(at(container, &["resources", of])));
            }
            let (mut sidecars, mut highest) = (Amounts::new(), Amounts::new());
            for container in list_at(pod, &["spec", "initContainers"]) {
                let own = amounts(at(container, &["resources", of]));
                let mut running = sidecars.clone();
                add(&mut running, &own);
                if text_at(container, &["restartPolicy"]) == "Always" {
                    add(&mut sum, &own);
                    sidecars = running.clone();
                }
                raise_to_max(&mut highest, running);
            }
            raise_to_max(&mut sum, highest);
            // Pod-level resources override the sum of the containers.
            let pod_level = amounts(at(pod, &["spec", "resources", of]));
            sum.extend(pod_level.into_iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")));
            sum
        };
        ResourceUsage { requests: total("requests"), limits: total("limits"), is_claim: false }
    }
}

fn amounts(map: Option<&Node>) -> Amounts {
    let entries = map.and_then(Node::as_map).into_iter().flat_map(|map| map.iter());
    entries.filter_map(|(name, amount)| Some((name.to_string(), Quantity::from_node(amount)?))).collect()
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let whole = sum.get(name).map_or(*amount, |existing| existing.plus(amount));
        sum.insert(name.clone(), whole);
    }
}

fn raise_to_max(highest: &mut Amounts, others: Amounts) {
    for (name, amount) in others {
        if highest.get(&name).is_none_or(|existing| amount.exceeds(existing)) {
            highest.insert(name, amount);
        }
    }
}

/// One bound of a LimitRange.
struct Bound<'b> {
    /// `Container`, `Pod` or `PersistentVolumeClaim`.
    kind: &'b str,
    /// The resource, such as `cpu`.
    name: &'b str,
    bound: Quantity,
}

impl Bound<'_> {
    fn usage(&self, end: &str) -> String {
        format!("{end} {} usage per {} is {}", self.name, self.kind, self.bound.canonical())
    }
}

/// Returns the server's message if the bound is violated.
type LimitCheck = fn(&Bound<'_>, &ResourceUsage) -> Option<String>;

/// The bounds of an entry and their checks.
const RULES: [(&str, LimitCheck); 3] =
    [("min", check_min), ("max", check_max), ("maxLimitRequestRatio", check_ratio)];

fn check_min(it: &Bound<'_>, requested: &ResourceUsage) -> Option<String> {
    let usage = it.usage("minimum");
    let Some(request) = requested.requests.get(it.name) else {
        return Some(format!("{usage}.  No request is specified"));
    };
    if it.bound.exceeds(request) {
        return Some(format!("{usage}, but request is {}", request.canonical()));
    }
    let limit = requested.limits.get(it.name).filter(|limit| it.bound.exceeds(limit))?;
    Some(format!("{usage}, but limit is {}", limit.canonical()))
}

fn check_max(it: &Bound<'_>, requested: &ResourceUsage) -> Option<String> {
    let (usage, word) = (it.usage("maximum"), if requested.is_claim { "request" } else { "limit" });
    let Some(limit) = requested.limits.get(it.name) else {
        return Some(format!("{usage}.  No {word} is specified"));
    };
    if limit.exceeds(&it.bound) {
        return Some(format!("{usage}, but {word} is {}", limit.canonical()));
    }
    let request = requested.requests.get(it.name).filter(|request| request.exceeds(&it.bound))?;
    Some(format!("{usage}, but request is {}", request.canonical()))
}

fn check_ratio(it: &Bound<'_>, requested: &ResourceUsage) -> Option<String> {
    let (name, kind, bound) = (it.name, it.kind, it.bound.canonical());
    let what = format!("{name} max limit to request ratio per {kind} is {bound}");
    let part = |amounts: &Amounts| amounts.get(it.name).copied().filter(|amount| !amount.is_zero());
    let Some(request) = part(&requested.requests) else {
        return Some(format!("{what}, but no request is specified or request is 0"));
    };
    let Some(limit) = part(&requested.limits) else {
        return Some(format!("{what}, but no limit is specified or limit is 0"));
    };
    let ratio = limit.as_float() / request.as_float();
    (ratio > it.bound.as_float()).then(|| format!("{what}, but provided ratio is {ratio:.6}"))
}
