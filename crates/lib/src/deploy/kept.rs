//! What an uninstall leaves in the cluster: objects that their resource policy keeps, that the release does not own, or
//! whose owner cannot be read.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pintle_cluster::{Cluster, Detail};
use pintle_objects::ObjectId;
use pintle_plan::{RetainedObject, ownership};
use pintle_release::ReleaseVersion;
use pintle_tree::LogLine;

use crate::Reporter;

/// The objects of a release that an uninstall does not delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptObjects {
    /// Those with the annotation `helm.sh/resource-policy: keep`.
    pub by_policy: Vec<RetainedObject>,
    /// Those that exist and belong to another release, or to none.
    pub not_owned: Vec<NotOwnedObject>,
    /// Those that could not be read, so that their owner is unknown.
    pub not_verified: Vec<UnverifiedObject>,
}

/// An object that does not belong to the release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOwnedObject {
    /// The object.
    pub id: ObjectId,
    /// The release that it belongs to, by name and namespace.
    pub owner: Option<(String, String)>,
}

/// An object that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnverifiedObject {
    /// The object.
    pub id: ObjectId,
    /// Why not.
    pub reason: String,
}

impl KeptObjects {
    /// Whether everything was deleted.
    pub fn is_empty(&self) -> bool {
        self.by_policy.is_empty() && self.not_owned.is_empty() && self.not_verified.is_empty()
    }

    /// Helm's text about the kept objects (`UninstallReleaseResponse.Info`); empty when there are none.
    pub fn helm_message(&self) -> String {
        let mut blocks = Vec::new();
        if !self.by_policy.is_empty() {
            let lines: String =
                self.by_policy.iter().map(|kept| format!("[{}] {}\n", kept.kind, kept.name)).collect();
            blocks.push(format!("These resources were kept due to the resource policy:\n{lines}"));
        }
        let number = |count: usize| format!("{count} resource(s) were not deleted because");
        if !self.not_owned.is_empty() {
            let mut block = format!("{} they are not owned by this release:\n", number(self.not_owned.len()));
            for NotOwnedObject { id, .. } in &self.not_owned {
                let _ = writeln!(block, "[{}] {}", id.kind, id.name);
            }
            blocks.push(block);
        }
        if !self.not_verified.is_empty() {
            let mut block =
                format!("{} their ownership could not be verified:\n", number(self.not_verified.len()));
            for UnverifiedObject { id, reason } in &self.not_verified {
                let _ = writeln!(block, "[{}] {}: {reason}", id.kind, id.name);
            }
            blocks.push(block);
        }
        blocks.join("\n")
    }
}

/// Which objects of a release it owns.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    /// In the order of deletion.
    owned: Vec<ObjectId>,
    /// The objects that exist and are not deleted.
    pub(crate) kept: KeptObjects,
}

impl Ownership {
    /// Reads the owners of objects. Objects that do not exist are in neither list.
    pub(crate) async fn read(cluster: &Cluster, ids: &[ObjectId], version: &ReleaseVersion) -> Ownership {
        let read = cluster.snapshot_readable(ids, Detail::MetadataOnly).await;
        let mut ownership = Ownership::default();
        for id in ids {
            if id.name.is_empty() {
                // The server generated the name, and nobody has recorded it. The words are client-go's.
                let reason = "resource name may not be empty".to_owned();
                ownership.kept.not_verified.push(UnverifiedObject { id: id.clone(), reason });
                continue;
            }
            if let Some((_, error)) = read.unreadable.iter().find(|(unreadable, _)| unreadable == id) {
                let unverified = UnverifiedObject { id: id.clone(), reason: error.to_string() };
                ownership.kept.not_verified.push(unverified);
                continue;
            }
            let Some(live) = read.live.get(id) else { continue };
            if ownership::check(live, &version.name, &version.namespace).is_ok() {
                ownership.owned.push(id.clone());
            } else {
                let owner = ownership::owner(live);
                let owner = owner.map(|(name, namespace)| (name.to_owned(), namespace.to_owned()));
                ownership.kept.not_owned.push(NotOwnedObject { id: id.clone(), owner });
            }
        }
        ownership
    }

    /// Those of the objects that the release owns, in their order.
    pub(crate) fn owned_of(&self, ids: &[ObjectId]) -> Vec<ObjectId> {
        let owned: BTreeSet<&ObjectId> = self.owned.iter().collect();
        ids.iter().filter(|id| owned.contains(id)).cloned().collect()
    }

    /// Logs what becomes of each object, in Helm's words: a warning for those that are not deleted.
    pub(crate) fn log(&self, release: &str, reporter: &mut dyn Reporter) {
        let attributes = |id: &ObjectId| [described(id), vec![("release", release.to_owned())]].concat();
        for NotOwnedObject { id, .. } in &self.kept.not_owned {
            let text = "skipping delete of resource not owned by this release";
            reporter.log_listed(LogLine::warn(text, attributes(id)));
        }
        for UnverifiedObject { id, reason } in &self.kept.not_verified {
            let mut attributes = attributes(id);
            attributes.push(("error", reason.clone()));
            let text = "skipping delete of resource because ownership could not be verified";
            reporter.log_listed(LogLine::warn(text, attributes));
        }
        for ObjectId { kind, name, namespace, .. } in &self.owned {
            let attributes =
                [("kind", kind.as_str()), ("name", name), ("namespace", namespace), ("release", release)];
            reporter.debug("deleting resource owned by this release", &attributes);
        }
    }

    /// As [`Ownership::log`], for a dry run.
    pub(crate) fn log_dry_run(&self, release: &str, reporter: &mut dyn Reporter) {
        let heading = |count: usize| vec![("release", release.to_owned()), ("count", count.to_string())];
        let KeptObjects { not_owned, not_verified, .. } = &self.kept;
        if !not_owned.is_empty() {
            let text = "dry-run: resources would be skipped because they are not owned by this release";
            reporter.log_listed(LogLine::warn(text, heading(not_owned.len())));
        }
        for NotOwnedObject { id, .. } in not_owned {
            reporter.log_listed(LogLine::warn("dry-run: would skip resource", described(id)));
        }
        if !not_verified.is_empty() {
            let text = "dry-run: resources would be skipped because their ownership could not be verified";
            reporter.log_listed(LogLine::warn(text, heading(not_verified.len())));
        }
        for UnverifiedObject { id, reason } in not_verified {
            let attributes = [described(id), vec![("error", reason.clone())]].concat();
            let text = "dry-run: would skip resource (ownership could not be verified)";
            reporter.log_listed(LogLine::warn(text, attributes));
        }
        if !self.owned.is_empty() {
            let count = self.owned.len().to_string();
            reporter.debug(
                "dry-run: resources would be deleted",
                &[("release", release), ("count", count.as_str())],
            );
        }
        for ObjectId { kind, name, namespace, .. } in &self.owned {
            let attributes = [("kind", kind.as_str()), ("name", name), ("namespace", namespace)];
            reporter.debug("dry-run: would delete resource", &attributes);
        }
    }
}

fn described(id: &ObjectId) -> Vec<(&'static str, String)> {
    vec![("kind", id.kind.clone()), ("name", id.name.clone()), ("namespace", id.namespace.clone())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helm_s_text_has_a_block_for_each_reason() {
        let id = |name: &str| ObjectId::new("v1", "ConfigMap", "default", name);
        let mut kept = KeptObjects {
            by_policy: vec![RetainedObject { kind: "ConfigMap".into(), name: "kept".into() }],
            not_owned: ["b", "c"].map(|name| NotOwnedObject { id: id(name), owner: None }).into(),
            not_verified: vec![UnverifiedObject { id: id("d"), reason: "no".into() }],
        };
        assert_eq!(
            kept.helm_message(),
            "These resources were kept due to the resource policy:\n[ConfigMap] kept\n\n2 resource(s) were not deleted \
             because they are not owned by this release:\n[ConfigMap] b\n[ConfigMap] c\n\n1 resource(s) were not \
             deleted because their ownership could not be verified:\n[ConfigMap] d: no\n"
        );
        (kept.by_policy, kept.not_owned) = (Vec::new(), Vec::new());
        assert!(kept.helm_message().starts_with("1 resource(s) were not deleted because their ownership"));
        assert_eq!(KeptObjects::default().helm_message(), "");
    }
}
