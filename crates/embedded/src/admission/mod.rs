//! Mutating admission and the defaults that need the state of the cluster: service accounts, priorities, tolerations,
//! storage classes, cluster IPs, generated selectors.
//!
//! All of it runs after [`crate::apply::update_managed_fields`], as no field manager owns what the server sets. The
//! plugins LimitRanger, PodSecurity and ResourceQuota, which read other objects, are in `api`.

mod app_armor;
mod pod;
mod service;

use pintle_tree::{Map, Node, Str};

use crate::fields::{at, map_mut, map_of, map_or_insert, set_default, text};
use crate::schema::Kind;
use crate::status::{Status, StatusDetails};

/// What admission needs from the cluster.
pub trait AdmissionContext {
    /// Five random characters, for generated names.
    fn suffix(&mut self) -> String;
    /// Allocates a cluster IP.
    fn cluster_ip(&mut self) -> String;
    /// Allocates a node port.
    fn node_port(&mut self) -> u16;
    /// The storage class with the default annotation.
    fn default_storage_class(&mut self) -> Option<Str>;
    /// Value and preemption policy of a PriorityClass.
    fn priority(&mut self, class: &str) -> Option<(i64, Str)>;
    /// The current time as `metav1.Time`.
    fn now(&mut self) -> Str;
    /// Whether a service account exists.
    fn has_account(&mut self, namespace: &str, name: &str) -> bool;
    /// Sends a warning to the client.
    fn warn(&mut self, text: String);
}

/// The ServiceAccount and Priority admission plugins: whether the objects exist that a new pod refers to. Runs before
/// [`mutate_create`].
///
/// # Errors
///
/// 403 if the service account or the priority class does not exist.
pub fn validate_references(
    kind: Kind<'_>,
    object: &Node,
    context: &mut dyn AdmissionContext,
) -> Result<(), Status> {
    if kind.custom || group_and_kind(kind) != ("", "Pod") {
        return Ok(());
    }
    let (namespace, name) = (text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]));
    let refuse = |why: String| {
        let details =
            StatusDetails { name: name.to_owned(), kind: "pods".to_owned(), ..StatusDetails::default() };
        Err(Status::new(403, "Forbidden", format!("pods {name:?} is forbidden: {why}")).with_details(details))
    };
    let account = match text(object, &["spec", "serviceAccountName"]) {
        "" => "default",
        account => account,
    };
    if !context.has_account(namespace, account) {
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
        );
        return refuse(why);
    }
    let class = text(object, &["spec", "priorityClassName"]);
    // The prefix is reserved for the two classes that the server creates itself.
    let is_known = class.is_empty() || class.starts_with("system-") || context.priority(class).is_some();
    if is_known { Ok(()) } else { refuse(format!("no PriorityClass with name {class} was found")) }
}

/// Mutates a new object, which has its name, its uid and its defaults.
pub fn mutate_create(kind: Kind<'_>, object: &mut Node, context: &mut dyn AdmissionContext) {
    if kind.custom {
        return;
    }
    let uid = text(object, &["metadata", "uid"]).to_owned();
    match group_and_kind(kind) {
        ("", "Pod") => pod::mutate(object, context),
        ("", "Service") => service::mutate(object, None, context),
        ("", "PersistentVolumeClaim") => claim(object, context),
        ("", "PersistentVolume") => volume(object, context),
        ("", "Node") => node(object),
        ("batch", "Job") => job(object, &uid),
        ("apps", "DaemonSet") => set_template_generation(object, 1),
        _ => {}
    }
}

/// Mutates a new state of the existing object `live`.
pub fn mutate_update(
    kind: Kind<'_>,
    live: &Node,
    object: &mut Node,
    subresource: &str,
    context: &mut dyn AdmissionContext,
) {
    if kind.custom || !subresource.is_empty() {
        return;
    }
    match group_and_kind(kind) {
        ("", "Service") => service::mutate(object, Some(live), context),
        ("apps", "DaemonSet") => {
            let count =
                text(live, &["metadata", "annotations", TEMPLATE_GENERATION]).parse::<i64>().unwrap_or(1);
            // The annotation replaces `spec.templateGeneration` of an API version that is no longer served.
            let changed = at(live, &["spec", "template"]) != at(object, &["spec", "template"]);
            set_template_generation(object, count + i64::from(changed));
        }
        ("", "Secret") if text(object, &["type"]).is_empty() => {
            if let (Some(map), Some(kind)) = (object.as_map_mut(), live.get("type")) {
                map.insert("type".into(), kind.clone());
            }
        }
        _ => {}
    }
}

/// Sets empty lists to null where the stored form does not tell them apart: etcd keeps protobuf, which has no empty
/// lists.
pub fn normalize_for_storage(kind: Kind<'_>, object: &mut Node) {
    if kind.custom {
        return;
    }
    let fields: &[&[&str]] = match group_and_kind(kind) {
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => &[&["rules"]],
        ("storage.k8s.io", "CSINode") => &[&["spec", "drivers"]],
        ("discovery.k8s.io", "EndpointSlice") => &[&["endpoints"], &["ports"]],
        ("autoscaling", _) => &[&["status", "currentMetrics"]],
        ("apiextensions.k8s.io", _) => &[&["status", "conditions"], &["status", "storedVersions"]],
        _ => &[],
    };
    for path in fields {
        let Some((last, parents)) = path.split_last() else { continue };
        let parent = parents.iter().try_fold(&mut *object, |node, key| node.as_map_mut()?.get_mut(key));
        if let Some(Node::Map(parent)) = parent
            && parent.get(last).and_then(Node::as_list).is_some_and(<[Node]>::is_empty)
        {
            parent.insert(Str::from(*last), Node::Nil);
        }
    }
}

fn group_and_kind(kind: Kind<'_>) -> (&str, &str) {
    (kind.resource.group.as_str().unwrap_or_default(), kind.resource.kind.as_str().unwrap_or_default())
}

fn add_finalizer(object: &mut Node, name: &str) {
    let metadata = object.as_map_mut().and_then(|object| map_or_insert(object, "metadata"));
    let Some(metadata) = metadata else { return };
    set_default(metadata, "finalizers", Node::List(Vec::new()));
    if let Some(Node::List(finalizers)) = metadata.get_mut("finalizers")
        && !finalizers.iter().any(|known| known.as_str() == Some(name))
    {
        finalizers.push(name.into());
    }
}

fn claim(object: &mut Node, context: &mut dyn AdmissionContext) {
    add_finalizer(object, "kubernetes.io/pvc-protection");
    let Some(map) = object.as_map_mut() else { return };
    map.insert("status".into(), map_of(&[("phase", "Pending".into())]));
    let old = map
        .get("metadata")
        .map(|metadata| at(metadata, &["annotations", "volume.beta.kubernetes.io/storage-class"]).is_some());
    if let Some(spec) = map_mut(map, "spec")
        && spec.get("storageClassName").is_none_or(Node::is_nil)
        // The annotation, older than the field, still counts as a choice of the class.
        && old != Some(true)
        && let Some(class) = context.default_storage_class()
    {
        spec.insert("storageClassName".into(), class.into());
    }
}

fn volume(object: &mut Node, context: &mut dyn AdmissionContext) {
    add_finalizer(object, "kubernetes.io/pv-protection");
    let now = context.now();
    if let Some(map) = object.as_map_mut() {
        let status = [("phase", "Pending".into()), ("lastPhaseTransitionTime", now.into())];
        map.insert("status".into(), map_of(&status));
    }
}

fn node(object: &mut Node) {
    let Some(spec) = object.as_map_mut().and_then(|object| map_or_insert(object, "spec")) else { return };
    set_default(spec, "taints", Node::List(Vec::new()));
    // The plugin TaintNodesByCondition: nothing is scheduled before the node is known to be ready.
    let taint = map_of(&[("key", "node.kubernetes.io/not-ready".into()), ("effect", "NoSchedule".into())]);
    if let Some(Node::List(taints)) = spec.get_mut("taints")
        && !taints.iter().any(|known| known.get("key") == taint.get("key"))
    {
        taints.push(taint);
    }
}

/// A Job selects its pods by its uid, unless it has a manual selector.
fn job(object: &mut Node, uid: &str) {
    if crate::fields::is_true(object, &["spec", "manualSelector"]) {
        return;
    }
    let name = text(object, &["metadata", "name"]).to_owned();
    let own = [
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name.as_str()),
        ("controller-uid", uid),
        ("job-name", name.as_str()),
    ];
    let label = |labels: &mut Map<Node>| {
        for (key, value) in own {
            labels.insert(key.into(), value.into());
        }
    };
    let is_bare = at(object, &["metadata", "labels"]).and_then(Node::as_map).is_none_or(Map::is_empty);
    let Some(map) = object.as_map_mut() else { return };
    // A Job without labels gets those of its template.
    if is_bare
        && let Some(labels) =
            map_or_insert(map, "metadata").and_then(|metadata| map_or_insert(metadata, "labels"))
    {
        label(labels);
    }
    let Some(spec) = map_mut(map, "spec") else { return };
    let template = map_or_insert(spec, "template").and_then(|template| map_or_insert(template, "metadata"));
    if let Some(labels) = template.and_then(|metadata| map_or_insert(metadata, "labels")) {
        label(labels);
    }
    if let Some(selector) =
        map_or_insert(spec, "selector").and_then(|selector| map_or_insert(selector, "matchLabels"))
    {
        selector.insert("batch.kubernetes.io/controller-uid".into(), uid.into());
    }
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn set_template_generation(object: &mut Node, count: i64) {
    let metadata = object.as_map_mut().and_then(|object| map_or_insert(object, "metadata"));
    if let Some(annotations) = metadata.and_then(|metadata| map_or_insert(metadata, "annotations")) {
        annotations.insert(TEMPLATE_GENERATION.into(), count.to_string().into());
    }
}
