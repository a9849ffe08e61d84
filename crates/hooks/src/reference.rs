//! Updates references between hook objects of one event when splitting renames their target.

use std::collections::BTreeMap;

use pintle_yaml::outline::PathSegment;

use crate::change::{Change, Path};
use crate::env::{CONTAINERS, pod_spec};
use crate::name::split_name;
use crate::view::View;

/// What splitting renamed, by event. An object of one event never refers to a part of another.
#[derive(Debug, Default)]
pub(crate) struct Renames {
    /// By kind and name.
    targets: BTreeMap<Box<str>, Vec<Renamed>>,
}

/// An event at which the object is renamed.
#[derive(Debug)]
struct Renamed {
    event: &'static str,
    namespace: Box<str>,
}

/// The kinds that other objects refer to by name.
const REFERRED_TO: [&str; 6] =
    ["ClusterRole", "ConfigMap", "PersistentVolumeClaim", "Role", "Secret", "ServiceAccount"];

fn target(kind: &str, name: &str) -> String {
    [kind, name].join("/")
}

impl Renames {
    /// Records that the part of an object at `event` is renamed.
    pub(crate) fn add(&mut self, event: &'static str, kind: &str, namespace: &str, name: &str) {
        if !REFERRED_TO.contains(&kind) {
            return;
        }
        let renamed = Renamed { event, namespace: namespace.into() };
        self.targets.entry(target(kind, name).into()).or_default().push(renamed);
    }

    /// The new name of an object, if it was renamed. An object without namespace is in the release's namespace, which
    /// is unknown here and may be explicit elsewhere, so it matches any.
    fn find(&self, event: &'static str, kind: &str, namespace: &str, name: &str) -> Option<String> {
        let renamed = self.targets.get(target(kind, name).as_str())?;
        let same = |one: &str| one == namespace || one.is_empty() || namespace.is_empty();
        let found = renamed.iter().any(|renamed| renamed.event == event && same(&renamed.namespace));
        found.then(|| split_name(name, event))
    }

    /// Updates the references of an object at `path` to the parts of the same event.
    pub(crate) fn rewrite<'v>(
        &self,
        object: impl View<'v>,
        path: &[PathSegment],
        event: &'static str,
        changes: &mut Vec<Change>,
    ) {
        if self.targets.is_empty() {
            return;
        }
        let kind = object.text(&["kind"]);
        let namespace = object.text(&["metadata", "namespace"]);
        let mut pass = Rewriter { renames: self, event, namespace: &namespace, path: path.to_vec(), changes };
        match kind.as_ref() {
            "RoleBinding" | "ClusterRoleBinding" => pass.binding(object),
            "ServiceAccount" => {
                for field in ["secrets", "imagePullSecrets"] {
                    pass.each(object, field, |pass, secret| pass.name("Secret", secret, "name"));
                }
            }
            // A service account token is bound to its account by this annotation.
            "Secret" => pass.under(object, &["metadata", "annotations"], |pass, annotations| {
                pass.name("ServiceAccount", annotations, "kubernetes.io/service-account.name");
            }),
            _ => pass.under(object, pod_spec(&kind), Rewriter::pod),
        }
    }
}

/// The object being rewritten.
struct Rewriter<'a> {
    renames: &'a Renames,
    event: &'static str,
    namespace: &'a str,
    path: Path,
    changes: &'a mut Vec<Change>,
}

/// Volume sources that refer to a Secret.
const VOLUMES_WITH_SECRETS: [(&str, &str); 7] = [
    ("cephfs", "secretRef"),
    ("csi", "nodePublishSecretRef"),
    ("flexVolume", "secretRef"),
    ("iscsi", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("storageos", "secretRef"),
];

impl Rewriter<'_> {
    /// Visits the node at a path of keys.
    fn under<'v, V: View<'v>>(&mut self, view: V, keys: &[&'static str], visit: impl FnOnce(&mut Self, V)) {
        let Some(inner) = view.at(keys) else { return };
        let length = self.path.len();
        self.path.extend(keys.iter().copied().map(PathSegment::from));
        visit(self, inner);
        self.path.truncate(length);
    }

    /// Visits the items of a list.
    fn each<'v, V: View<'v>>(&mut self, view: V, field: &'static str, mut visit: impl FnMut(&mut Self, V)) {
        self.under(view, &[field], |pass, list| {
            for (index, item) in list.items().unwrap_or_default().into_iter().enumerate() {
                pass.path.push(index.into());
                visit(pass, item);
                pass.path.pop();
            }
        });
    }

    /// Renames the target of `field`.
    fn name<'v>(&mut self, kind: &str, map: impl View<'v>, field: &'static str) {
        self.name_in(self.namespace, kind, map, field);
    }

    fn name_in<'v>(&mut self, namespace: &str, kind: &str, map: impl View<'v>, field: &'static str) {
        let Some(name) = map.get(field).and_then(View::str) else { return };
        if let Some(new) = self.renames.find(self.event, kind, namespace, &name) {
            let path = [self.path.as_slice(), &[field.into()]].concat();
            self.changes.push(Change::Set(path, new.into()));
        }
    }

    /// Renames the target of `field` in the map at `key`.
    fn name_under<'v>(&mut self, kind: &str, map: impl View<'v>, key: &'static str, field: &'static str) {
        self.under(map, &[key], |pass, inner| pass.name(kind, inner, field));
    }

    fn pod<'v>(&mut self, spec: impl View<'v>) {
        self.name("ServiceAccount", spec, "serviceAccountName");
        // The deprecated name of the same field.
        self.name("ServiceAccount", spec, "serviceAccount");
        self.each(spec, "imagePullSecrets", |pass, secret| pass.name("Secret", secret, "name"));
        self.each(spec, "volumes", Rewriter::volume);
        for field in CONTAINERS {
            self.each(spec, field, Rewriter::container);
        }
    }

    fn volume<'v>(&mut self, volume: impl View<'v>) {
        self.name_under("ConfigMap", volume, "configMap", "name");
        self.name_under("Secret", volume, "secret", "secretName");
        self.name_under("Secret", volume, "azureFile", "secretName");
        self.name_under("PersistentVolumeClaim", volume, "persistentVolumeClaim", "claimName");
        for (kind, reference) in VOLUMES_WITH_SECRETS {
            self.under(volume, &[kind, reference], |pass, secret| pass.name("Secret", secret, "name"));
        }
        self.under(volume, &["projected"], |pass, projected| {
            pass.each(projected, "sources", |pass, source| {
                pass.name_under("ConfigMap", source, "configMap", "name");
                pass.name_under("Secret", source, "secret", "name");
            });
        });
    }

    fn container<'v>(&mut self, container: impl View<'v>) {
        self.each(container, "env", |pass, variable| {
            pass.under(variable, &["valueFrom"], |pass, from| {
                pass.name_under("ConfigMap", from, "configMapKeyRef", "name");
                pass.name_under("Secret", from, "secretKeyRef", "name");
            });
        });
        self.each(container, "envFrom", |pass, from| {
            pass.name_under("ConfigMap", from, "configMapRef", "name");
            pass.name_under("Secret", from, "secretRef", "name");
        });
    }

    fn binding<'v>(&mut self, binding: impl View<'v>) {
        self.each(binding, "subjects", |pass, subject| {
            if subject.text(&["kind"]) == "ServiceAccount" {
                // A subject has its own namespace; the binding's does not apply.
                pass.name_in(&subject.text(&["namespace"]), "ServiceAccount", subject, "name");
            }
        });
        self.under(binding, &["roleRef"], |pass, role| pass.name(&role.text(&["kind"]), role, "name"));
    }
}
