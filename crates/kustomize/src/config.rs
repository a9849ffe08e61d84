//! Which fields the transformers change: kustomize's own table, and what `configurations` and `crds` add to it.

use std::sync::{Arc, LazyLock};

use pintle_tree::{Map, Node, Str};

use crate::error::Error;
use crate::id::Gvk;

/// A field of some kinds of objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldSpec {
    pub(crate) gvk: Gvk,
    /// The path as it is written: `spec/template/metadata/labels`.
    pub(crate) path: Str,
    pub(crate) segments: Arc<[Segment]>,
    pub(crate) create: bool,
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) name: Str,
    /// Whether it is written with `[]`: the field is a list, and never created.
    pub(crate) is_list: bool,
}

/// The kinds of fields, in the order of [`FIELDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    NamePrefix,
    NameSuffix,
    Namespace,
    CommonLabels,
    Labels,
    TemplateLabels,
    ClaimLabels,
    CommonAnnotations,
    VarReference,
    Images,
    Replicas,
}

/// The fields of a configuration file, each with its purpose.
const FIELDS: [(&str, Purpose); 11] = [
    ("namePrefix", Purpose::NamePrefix),
    ("nameSuffix", Purpose::NameSuffix),
    ("namespace", Purpose::Namespace),
    ("commonLabels", Purpose::CommonLabels),
    ("labels", Purpose::Labels),
    ("templateLabels", Purpose::TemplateLabels),
    ("volumeClaimTemplateLabels", Purpose::ClaimLabels),
    ("commonAnnotations", Purpose::CommonAnnotations),
    ("varReference", Purpose::VarReference),
    ("images", Purpose::Images),
    ("replicas", Purpose::Replicas),
];

/// The fields that name objects of a kind.
#[derive(Clone, Debug)]
pub(crate) struct NameReference {
    pub(crate) target: Gvk,
    pub(crate) referrers: Vec<FieldSpec>,
}

/// All fields that are changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    specs: [Vec<FieldSpec>; FIELDS.len()],
    pub(crate) references: Vec<NameReference>,
}

impl FieldSpec {
    pub(crate) fn new(gvk: Gvk, path: &str, create: bool) -> Self {
        let segments = split_path(path).into_iter().map(|name| match name.strip_suffix("[]") {
            Some(name) => Segment { name: name.into(), is_list: true },
            None => Segment { name: name.into(), is_list: false },
        });
        FieldSpec { gvk, path: path.into(), segments: segments.collect(), create }
    }

    /// For all kinds.
    pub(crate) fn everywhere(path: &str, create: bool) -> Self {
        FieldSpec::new(Gvk::default(), path, create)
    }
}

/// Splits a path at its slashes; a backslash before a slash makes it part of a name.
pub(crate) fn split_path(path: &str) -> Vec<String> {
    split_escaped(path, '/')
}

/// Splits at a delimiter that a backslash escapes. One at the beginning does not count.
pub(crate) fn split_escaped(path: &str, delimiter: char) -> Vec<String> {
    let mut parts = path.split(delimiter).peekable();
    if path.contains(delimiter) && parts.peek() == Some(&"") {
        parts.next();
    }
    let mut names: Vec<String> = Vec::new();
    for part in parts {
        match names.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(part);
            }
            _ => names.push(part.to_owned()),
        }
    }
    names
}

impl Config {
    pub(crate) fn of(&self, purpose: Purpose) -> &[FieldSpec] {
        &self.specs[purpose as usize]
    }

    fn of_mut(&mut self, purpose: Purpose) -> &mut Vec<FieldSpec> {
        &mut self.specs[purpose as usize]
    }

    /// Adds a field.
    pub(crate) fn add(&mut self, purpose: Purpose, spec: FieldSpec) {
        self.of_mut(purpose).push(spec);
    }

    /// Kustomize's own table.
    pub(crate) fn builtin() -> Arc<Config> {
        static BUILTIN: LazyLock<Arc<Config>> = LazyLock::new(|| Arc::new(make_builtin()));
        BUILTIN.clone()
    }

    /// Adds the fields of another configuration.
    pub(crate) fn merge(&mut self, other: &Config) -> Result<(), Error> {
        for (mine, theirs) in self.specs.iter_mut().zip(&other.specs) {
            merge_all(mine, theirs)?;
        }
        for reference in &other.references {
            match self.references.iter_mut().find(|mine| mine.target == reference.target) {
                Some(mine) => merge_all(&mut mine.referrers, &reference.referrers)?,
                None => self.references.push(reference.clone()),
            }
        }
        Ok(())
    }

    /// Reads a configuration file.
    pub(crate) fn parse(node: &Node) -> Result<Self, String> {
        let mut config = Config::default();
        let map = match node {
            Node::Map(map) => map,
            Node::Nil => return Ok(config),
            other => return Err(format!("a configuration is a map, not a {}", other.json_type())),
        };
        for (key, value) in map.iter() {
            let name = key.to_str_lossy();
            if name == "nameReference" {
                for entry in list_of(value, &name)? {
                    let target = gvk_of(entry);
                    let specs = entry
                        .get("fieldSpecs")
                        .map_or(Ok(Vec::new()), |specs| specs_of(specs, "fieldSpecs"))?;
                    config.references.push(NameReference { target, referrers: specs });
                }
                continue;
            }
            let purpose = FIELDS.iter().find(|(field, _)| *field == name).map(|(_, purpose)| *purpose);
            let purpose = purpose.ok_or_else(|| format!("unknown field {name:?} in a configuration"))?;
            *config.of_mut(purpose) = specs_of(value, &name)?;
        }
        Ok(config)
    }
}

fn list_of<'n>(value: &'n Node, name: &str) -> Result<Vec<&'n Map<Node>>, String> {
    let list = match value {
        Node::List(list) => list.as_slice(),
        Node::Nil => &[],
        other => return Err(format!("{name} is a list, not a {}", other.json_type())),
    };
    list.iter().map(|item| item.as_map().ok_or_else(|| format!("an item of {name} is no map"))).collect()
}

fn gvk_of(map: &Map<Node>) -> Gvk {
    let text = |key: &str| map.get(key).and_then(Node::as_text).cloned().unwrap_or_default();
    Gvk { group: text("group"), version: text("version"), kind: text("kind") }
}

/// Field specifications as they are written in files.
pub(crate) fn specs_of(value: &Node, name: &str) -> Result<Vec<FieldSpec>, String> {
    let specs = list_of(value, name)?.into_iter().map(|map| {
        let path = map.get("path").and_then(Node::as_str).unwrap_or_default();
        FieldSpec::new(gvk_of(map), path, map.get("create").and_then(Node::as_bool).unwrap_or(false))
    });
    Ok(specs.collect())
}

pub(crate) fn merge_all(into: &mut Vec<FieldSpec>, others: &[FieldSpec]) -> Result<(), Error> {
    others.iter().try_for_each(|other| merge_one(into, other))
}

/// Adds a field unless it is there already.
pub(crate) fn merge_one(into: &mut Vec<FieldSpec>, other: &FieldSpec) -> Result<(), Error> {
    match into.iter().find(|mine| mine.path == other.path && mine.gvk.is_selected(&other.gvk)) {
        Some(mine) if mine.create != other.create => Err(Error::new(format!(
            "conflicting fieldspecs: {} is to be created in one and not in another",
            other.path
        ))),
        Some(_) => Ok(()),
        None => {
            into.push(other.clone());
            Ok(())
        }
    }
}

/// A kind in the short form of this file: `Kind`, `group:Kind` or `group/version:Kind`; `/version:Kind` is the core group.
fn kind(text: &str) -> Gvk {
    let Some((api, kind)) = text.rsplit_once(':') else {
        return Gvk { kind: text.into(), ..Gvk::default() };
    };
    let (group, version) = api.split_once('/').unwrap_or((api, ""));
    Gvk { group: group.into(), version: version.into(), kind: kind.into() }
}

/// The kinds with a pod template, and where its pod is.
const WORKLOADS: [(&str, &str); 8] = [
    ("/v1:Pod", "spec"),
    ("PodTemplate", "template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
];

/// Those of a pod's fields that name other objects directly.
const CONTROLLERS: [(&str, &str); 7] = [
    ("Pod", "spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicationController", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
];

const MAPS_IN_PODS: [&str; 6] = [
    "volumes/configMap/name",
    "containers/env/valueFrom/configMapKeyRef/name",
    "initContainers/env/valueFrom/configMapKeyRef/name",
    "containers/envFrom/configMapRef/name",
    "initContainers/envFrom/configMapRef/name",
    "volumes/projected/sources/configMap/name",
];

const SECRETS_IN_PODS: [&str; 7] = [
    "volumes/secret/secretName",
    "containers/env/valueFrom/secretKeyRef/name",
    "initContainers/env/valueFrom/secretKeyRef/name",
    "containers/envFrom/secretRef/name",
    "initContainers/envFrom/secretRef/name",
    "imagePullSecrets/name",
    "volumes/projected/sources/secret/name",
];

const RBAC: &str = "rbac.authorization.k8s.io";

fn make_builtin() -> Config {
    let mut config = Config::default();
    for purpose in [Purpose::NamePrefix, Purpose::NameSuffix] {
        config.of_mut(purpose).push(FieldSpec::everywhere("metadata/name", false));
    }
    *config.of_mut(Purpose::Namespace) = vec![
        FieldSpec::new(kind("Namespace"), "metadata/name", true),
        FieldSpec::new(kind("apiregistration.k8s.io:APIService"), "spec/service/namespace", true),
        FieldSpec::new(
            kind("apiextensions.k8s.io:CustomResourceDefinition"),
            "spec/conversion/webhook/clientConfig/service/namespace",
            false,
        ),
    ];
    *config.of_mut(Purpose::CommonLabels) = [selectors(), template_labels(), claim_labels()].concat();
    *config.of_mut(Purpose::TemplateLabels) = template_labels();
    *config.of_mut(Purpose::ClaimLabels) = claim_labels();
    *config.of_mut(Purpose::CommonAnnotations) = annotations();
    *config.of_mut(Purpose::Images) = images();
    let replicas = ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"];
    *config.of_mut(Purpose::Replicas) =
        replicas.map(|name| FieldSpec::new(kind(name), "spec/replicas", true)).to_vec();
    config.references = references();
    config
}

fn selectors() -> Vec<FieldSpec> {
    let mut specs = vec![
        FieldSpec::new(kind("/v1:Service"), "spec/selector", true),
        FieldSpec::new(kind("/v1:ReplicationController"), "spec/selector", true),
        FieldSpec::new(kind("Deployment"), "spec/selector/matchLabels", true),
    ];
    specs.extend(pod_selectors("apps:Deployment"));
    specs.extend(
        ["ReplicaSet", "DaemonSet", "apps:StatefulSet"]
            .map(|name| FieldSpec::new(kind(name), "spec/selector/matchLabels", true)),
    );
    specs.extend(pod_selectors("apps:StatefulSet"));
    let others = [
        ("batch:Job", "spec/selector/matchLabels"),
        ("batch:CronJob", "spec/jobTemplate/spec/selector/matchLabels"),
        ("policy:PodDisruptionBudget", "spec/selector/matchLabels"),
        ("networking.k8s.io:NetworkPolicy", "spec/podSelector/matchLabels"),
        ("networking.k8s.io:NetworkPolicy", "spec/ingress/from/podSelector/matchLabels"),
        ("networking.k8s.io:NetworkPolicy", "spec/egress/to/podSelector/matchLabels"),
    ];
    specs.extend(others.map(|(name, path)| FieldSpec::new(kind(name), path, false)));
    specs
}

/// The selectors inside of a pod template.
fn pod_selectors(name: &str) -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for affinity in ["podAffinity", "podAntiAffinity"] {
        for rule in [
            "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
            "requiredDuringSchedulingIgnoredDuringExecution",
        ] {
            let path = format!("spec/template/spec/affinity/{affinity}/{rule}/labelSelector/matchLabels");
            specs.push(FieldSpec::new(kind(name), &path, false));
        }
    }
    let path = "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels";
    specs.push(FieldSpec::new(kind(name), path, false));
    specs
}

/// The metadata of objects and pod templates.
fn metadata(field: &str, stateful_set: &str) -> Vec<FieldSpec> {
    let mut specs = vec![FieldSpec::everywhere(&format!("metadata/{field}"), true)];
    let templates =
        ["/v1:ReplicationController", "Deployment", "ReplicaSet", "DaemonSet", stateful_set, "batch:Job"];
    let path = format!("spec/template/metadata/{field}");
    specs.extend(templates.map(|name| FieldSpec::new(kind(name), &path, true)));
    for path in ["spec/jobTemplate/metadata", "spec/jobTemplate/spec/template/metadata"] {
        specs.push(FieldSpec::new(kind("batch:CronJob"), &format!("{path}/{field}"), true));
    }
    specs
}

fn template_labels() -> Vec<FieldSpec> {
    metadata("labels", "apps:StatefulSet")
}

fn claim_labels() -> Vec<FieldSpec> {
    vec![FieldSpec::new(kind("apps:StatefulSet"), "spec/volumeClaimTemplates[]/metadata/labels", true)]
}

fn annotations() -> Vec<FieldSpec> {
    metadata("annotations", "StatefulSet")
}

fn images() -> Vec<FieldSpec> {
    let paths = [
        "spec/containers[]/image",
        "spec/initContainers[]/image",
        "spec/volumes[]/image/reference",
        "spec/template/spec/containers[]/image",
        "spec/template/spec/initContainers[]/image",
        "spec/template/spec/volumes[]/image/reference",
        "spec/jobTemplate/spec/template/spec/volumes[]/image/reference",
    ];
    paths.map(|path| FieldSpec::everywhere(path, true)).to_vec()
}

fn references() -> Vec<NameReference> {
    let mut references = Vec::new();
    let mut add = |target: &str, referrers: Vec<(String, String)>| {
        let specs = referrers.iter().map(|(name, path)| FieldSpec::new(kind(name), path, false));
        references.push(NameReference { target: kind(target), referrers: specs.collect() });
    };
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect()
    };
    let in_pods = |fields: &[&str]| -> Vec<(String, String)> {
        let of = |(name, pod): &(&str, &str)| -> Vec<(String, String)> {
            fields.iter().map(|field| ((*name).to_owned(), format!("{pod}/{field}"))).collect()
        };
        WORKLOADS.iter().flat_map(of).collect()
    };
    let by_controllers = |field: &str| -> Vec<(String, String)> {
        CONTROLLERS.iter().map(|(name, pod)| ((*name).to_owned(), format!("{pod}/{field}"))).collect()
    };
    for name in ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"] {
        add(name, pairs(&[("HorizontalPodAutoscaler", "spec/scaleTargetRef/name")]));
    }
    let more = pairs(&[
        ("Node", "spec/configSource/configMap"),
        ("Role", "rules/resourceNames"),
        ("ClusterRole", "rules/resourceNames"),
        ("Ingress", r"metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap"),
    ]);
    add("/v1:ConfigMap", [in_pods(&MAPS_IN_PODS), more].concat());
    let more = pairs(&[
        ("Ingress", "spec/tls/secretName"),
        ("Ingress", r"metadata/annotations/ingress.kubernetes.io\/auth-secret"),
        ("Ingress", r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret"),
        ("Ingress", r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret"),
        ("ServiceAccount", "imagePullSecrets/name"),
        ("StorageClass", "parameters/secretName"),
        ("StorageClass", "parameters/adminSecretName"),
        ("StorageClass", "parameters/userSecretName"),
        ("StorageClass", "parameters/secretRef"),
        ("Role", "rules/resourceNames"),
        ("ClusterRole", "rules/resourceNames"),
        ("serving.knative.dev/v1:Service", "spec/template/spec/containers/env/valueFrom/secretKeyRef/name"),
        ("PersistentVolume", "spec/azureFile/secretName"),
    ]);
    add("/v1:Secret", [in_pods(&SECRETS_IN_PODS), more].concat());
    add(
        "/v1:Service",
        pairs(&[
            ("apps:StatefulSet", "spec/serviceName"),
            ("Ingress", "spec/rules/http/paths/backend/serviceName"),
            ("Ingress", "spec/backend/serviceName"),
            ("Ingress", "spec/rules/http/paths/backend/service/name"),
            ("Ingress", "spec/defaultBackend/service/name"),
            ("apiregistration.k8s.io:APIService", "spec/service/name"),
            ("admissionregistration.k8s.io:ValidatingWebhookConfiguration", "webhooks/clientConfig/service"),
            ("admissionregistration.k8s.io:MutatingWebhookConfiguration", "webhooks/clientConfig/service"),
        ]),
    );
    let role_binding = format!("{RBAC}:RoleBinding");
    let cluster_role_binding = format!("{RBAC}:ClusterRoleBinding");
    let bindings = [role_binding.as_str(), cluster_role_binding.as_str()];
    add(&format!("{RBAC}:Role"), pairs(&[(bindings[0], "roleRef/name")]));
    add(&format!("{RBAC}:ClusterRole"), pairs(&bindings.map(|name| (name, "roleRef/name"))));
    let subjects = pairs(&bindings.map(|name| (name, "subjects")));
    add("/v1:ServiceAccount", [subjects, by_controllers("serviceAccountName")].concat());
    add("/v1:PersistentVolumeClaim", by_controllers("volumes/persistentVolumeClaim/claimName"));
    add(
        "/v1:PersistentVolume",
        pairs(&[("PersistentVolumeClaim", "spec/volumeName"), ("ClusterRole", "rules/resourceNames")]),
    );
    add(
        "storage.k8s.io/v1:StorageClass",
        pairs(&[
            ("PersistentVolume", "spec/storageClassName"),
            ("PersistentVolumeClaim", "spec/storageClassName"),
            ("StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
        ]),
    );
    add("scheduling.k8s.io/v1:PriorityClass", by_controllers("priorityClassName"));
    references.push(NameReference {
        // The slash is kustomize's own: no object has this group, so nothing is ever found.
        target: Gvk {
            group: "networking.k8s.io/v1".into(),
            version: "v1".into(),
            kind: "IngressClass".into(),
        },
        referrers: vec![FieldSpec::new(kind("Ingress"), "spec/ingressClassName", false)],
    });
    let policy = "admissionregistration.k8s.io:ValidatingAdmissionPolicy";
    let binding = format!("{policy}Binding");
    references.push(NameReference {
        target: kind(policy),
        referrers: vec![FieldSpec::new(kind(&binding), "spec/policyName", false)],
    });
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_at_slashes_that_are_not_escaped() {
        assert_eq!(split_path(r"metadata/annotations/a.b\/c"), ["metadata", "annotations", "a.b/c"]);
        assert_eq!(split_path("/a"), ["a"]);
    }

    #[test]
    fn the_same_field_is_kept_once_and_a_conflict_is_an_error() {
        let mut specs = template_labels();
        let before = specs.len();
        merge_one(&mut specs, &FieldSpec::everywhere("metadata/labels", true)).expect("the same");
        assert_eq!(specs.len(), before);
        assert!(merge_one(&mut specs, &FieldSpec::everywhere("metadata/labels", false)).is_err());
    }
}
