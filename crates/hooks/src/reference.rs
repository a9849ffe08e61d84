//! References from one object of a hook event to another, made right again when splitting renames their target.

use std::collections::BTreeMap;

use pintle_objects::Object;
use pintle_tree::{Map, Node};

use crate::env::pod_spec;

/// What splitting renamed, by event. An object of one event never refers to a part that runs at another.
#[derive(Debug, Default)]
pub(crate) struct Renames {
    targets: BTreeMap<Target, Vec<Renamed>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    event: &'static str,
    kind: String,
    name: String,
}

#[derive(Debug)]
struct Renamed {
    namespace: String,
    new: String,
}

impl Renames {
    /// Notes that the part of `object` that runs at `event` is now named `new`.
    pub(crate) fn add(&mut self, object: &Object, event: &'static str, new: &str) {
        let target = Target { event, kind: object.kind().to_owned(), name: object.name().to_owned() };
        let renamed = Renamed { namespace: object.namespace().to_owned(), new: new.to_owned() };
        self.targets.entry(target).or_default().push(renamed);
    }

    /// The new name of an object, if it has one. An object without namespace is in the release's, which is unknown
    /// here and may be spelled out elsewhere, so it matches all; but an exact match goes first.
    fn find(&self, event: &'static str, kind: &str, namespace: &str, name: &str) -> Option<&str> {
        let target = Target { event, kind: kind.to_owned(), name: name.to_owned() };
        let renamed = self.targets.get(&target)?;
        let exact = renamed.iter().find(|renamed| renamed.namespace == namespace);
        let near = || renamed.iter().find(|renamed| renamed.namespace.is_empty() || namespace.is_empty());
        exact.or_else(near).map(|renamed| renamed.new.as_str())
    }

    /// Points the references of an object that runs at `event` at the parts that run at the same event.
    pub(crate) fn rewrite(&self, object: &mut Object, event: &'static str) {
        if self.targets.is_empty() {
            return;
        }
        let namespace = object.namespace().to_owned();
        let pass = Pass { renames: self, event, namespace: &namespace };
        match object.kind() {
            "RoleBinding" | "ClusterRoleBinding" => pass.binding(object.body_mut()),
            "ServiceAccount" => {
                pass.each(object.body_mut(), "secrets", |secret| pass.name("Secret", secret, "name"));
                pass.each(object.body_mut(), "imagePullSecrets", |secret| {
                    pass.name("Secret", secret, "name")
                });
            }
            _ => {
                if let Some(spec) = pod_spec(object) {
                    pass.pod(spec);
                }
            }
        }
    }
}

/// One object on its way through.
struct Pass<'a> {
    renames: &'a Renames,
    event: &'static str,
    namespace: &'a str,
}

impl Pass<'_> {
    fn each(&self, map: &mut Map<Node>, field: &str, mut visit: impl FnMut(&mut Map<Node>)) {
        if let Some(Node::List(items)) = map.get_mut(field) {
            items.iter_mut().filter_map(Node::as_map_mut).for_each(&mut visit);
        }
    }

    /// Renames what `field` names.
    fn name(&self, kind: &str, map: &mut Map<Node>, field: &str) {
        self.name_in(self.namespace, kind, map, field);
    }

    fn name_in(&self, namespace: &str, kind: &str, map: &mut Map<Node>, field: &str) {
        let Some(node) = map.get_mut(field) else { return };
        let Some(new) = node.as_str().and_then(|name| self.renames.find(self.event, kind, namespace, name))
        else {
            return;
        };
        *node = new.into();
    }

    /// Renames what the map under `key` names in `field`.
    fn name_under(&self, kind: &str, map: &mut Map<Node>, key: &str, field: &str) {
        if let Some(Node::Map(inner)) = map.get_mut(key) {
            self.name(kind, inner, field);
        }
    }

    fn pod(&self, spec: &mut Map<Node>) {
        self.name("ServiceAccount", spec, "serviceAccountName");
        self.name("ServiceAccount", spec, "serviceAccount");
        self.each(spec, "imagePullSecrets", |secret| self.name("Secret", secret, "name"));
        self.each(spec, "volumes", |volume| self.volume(volume));
        for field in ["containers", "initContainers"] {
            self.each(spec, field, |container| self.container(container));
        }
    }

    fn volume(&self, volume: &mut Map<Node>) {
        self.name_under("ConfigMap", volume, "configMap", "name");
        self.name_under("Secret", volume, "secret", "secretName");
        self.name_under("PersistentVolumeClaim", volume, "persistentVolumeClaim", "claimName");
        if let Some(Node::Map(projected)) = volume.get_mut("projected") {
            self.each(projected, "sources", |source| {
                self.name_under("ConfigMap", source, "configMap", "name");
                self.name_under("Secret", source, "secret", "name");
            });
        }
    }

    fn container(&self, container: &mut Map<Node>) {
        self.each(container, "env", |variable| {
            if let Some(Node::Map(from)) = variable.get_mut("valueFrom") {
                self.name_under("ConfigMap", from, "configMapKeyRef", "name");
                self.name_under("Secret", from, "secretKeyRef", "name");
            }
        });
        self.each(container, "envFrom", |from| {
            self.name_under("ConfigMap", from, "configMapRef", "name");
            self.name_under("Secret", from, "secretRef", "name");
        });
    }

    fn binding(&self, binding: &mut Map<Node>) {
        self.each(binding, "subjects", |subject| {
            if subject.get("kind").and_then(Node::as_str) != Some("ServiceAccount") {
                return;
            }
            let namespace = subject.get("namespace").and_then(Node::as_str).unwrap_or_default().to_owned();
            self.name_in(&namespace, "ServiceAccount", subject, "name");
        });
        if let Some(Node::Map(role)) = binding.get_mut("roleRef") {
            let kind = role.get("kind").and_then(Node::as_str).unwrap_or_default().to_owned();
            self.name(&kind, role, "name");
        }
    }
}
