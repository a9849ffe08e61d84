//! `compare`: two versions of a release, object by object.

use std::collections::BTreeMap;

use pintle_diff::redacted_pair;
use pintle_objects::{Object, ObjectId};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};

use super::plan::{PlannedChange, changes_of};
use crate::Result;

/// An object that one of two versions has, or both.
#[derive(Clone, Debug)]
pub struct ComparedObject {
    /// The object.
    pub id: ObjectId,
    /// The text in the first version; values of Secrets are redacted.
    pub before: Option<String>,
    /// The text in the second version.
    pub after: Option<String>,
    /// The fields that differ; none for an object that only one version has.
    pub changes: Vec<PlannedChange>,
}

impl ComparedObject {
    /// Whether the versions differ in it.
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// Compares the recorded objects of two versions, in the order of the second one, with those that only the first one has at
/// the end. With `reveal`, the values of Secrets are shown.
///
/// # Errors
/// When a manifest cannot be read.
pub fn compare(before: &ReleaseVersion, after: &ReleaseVersion, reveal: bool) -> Result<Vec<ComparedObject>> {
    let read = |version: &ReleaseVersion| -> Result<Vec<Object>> {
        let mut objects = Object::read_manifest(version.manifest.as_bytes(), "")?;
        for hook in &version.hooks {
            objects.extend(Object::read_manifest(hook.manifest.as_bytes(), &hook.path)?);
        }
        Ok(objects)
    };
    let (old, new) = (read(before)?, read(after)?);
    let key = |object: &Object| object.id().unversioned();
    let mut known: BTreeMap<ObjectId, &Object> = old.iter().map(|object| (key(object), object)).collect();
    let mut compared: Vec<ComparedObject> =
        new.iter().map(|object| pair(known.remove(&key(object)), Some(object), reveal)).collect();
    let removed = old.iter().filter(|object| known.contains_key(&key(object)));
    compared.extend(removed.map(|object| pair(Some(object), None, reveal)));
    Ok(compared)
}

fn pair(before: Option<&Object>, after: Option<&Object>, reveal: bool) -> ComparedObject {
    let id = after.or(before).map(Object::id).unwrap_or_default();
    let text = |object: &Object| pintle_yaml::write(object.body()).unwrap_or_default();
    let (mut old, mut new) = (before.map(text), after.map(text));
    if !reveal {
        (old, new) = redacted_pair(&id.kind, old, new);
    }
    let fields =
        |text: &Option<Vec<u8>>| -> Option<Map<Node>> { pintle_yaml::read_map(text.as_deref()?).ok() };
    let changes = match (fields(&old), fields(&new)) {
        (Some(old), Some(new)) => changes_of(&old, &new),
        _ => Vec::new(),
    };
    let string = |text: Vec<u8>| String::from_utf8_lossy(&text).into_owned();
    ComparedObject { id, before: old.map(string), after: new.map(string), changes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(manifest: &str) -> ReleaseVersion {
        ReleaseVersion { manifest: manifest.to_owned(), ..ReleaseVersion::default() }
    }

    #[test]
    fn objects_are_compared_by_identity_and_secrets_are_redacted() {
        let secret = |data: &str| {
            format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{password: {data}}}\n")
        };
        let map = |name: &str| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
        let old = version(&format!("{}{}", secret("one-secret"), map("gone")));
        let new = version(&format!("{}{}", secret("two-secret"), map("new")));
        let compared = compare(&old, &new, false).expect("two manifests");
        let names: Vec<(&str, bool, bool)> = compared
            .iter()
            .map(|object| (object.id.name.as_str(), object.before.is_some(), object.after.is_some()))
            .collect();
        assert_eq!(names, [("s", true, true), ("new", false, true), ("gone", true, false)]);
        assert!(compared[0].is_changed() && !format!("{compared:?}").contains("-secret"), "{compared:?}");
        let revealed = compare(&old, &new, true).expect("two manifests");
        assert_eq!(revealed[0].changes[0].path, "stringData.password");
    }
}
