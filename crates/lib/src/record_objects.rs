//! Objects of a chart that look like the record of a release. Stores believe what they find under these names, types and
//! labels, so that a chart that brings such an object would say what was installed, by whom and from what.

use pintle_objects::{Manifest, Object, Sorted};
use pintle_release::ReleaseVersion;
use pintle_tree::LogLine;

use crate::lifecycle::secrets;
use crate::{Error, Reporter, Result};

/// The group of the kinds that releases are kept as, with the slash that follows it.
const RELEASE_API_GROUP: &str = "helm.sh/";

/// How the names of Helm's records begin.
const RECORD_NAME_PREFIX: &str = "sh.helm.release.v1.";

/// What becomes of a chart that brings objects which look like records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordObjects {
    /// It is refused.
    #[default]
    Refuse,
    /// They are warned of.
    Warn,
    /// They count as any other.
    Allow,
}

impl RecordObjects {
    /// Looks at rendered documents, hooks included.
    ///
    /// # Errors
    /// The first object that is refused.
    pub(crate) fn check(self, sorted: &Sorted<'_>, reporter: &mut dyn Reporter) -> Result<()> {
        if self == RecordObjects::Allow {
            return Ok(());
        }
        let hooks = sorted.hooks.iter().map(|hook| (hook.path, hook.manifest, hook.kind.to_str_lossy()));
        let objects = sorted.manifests.iter().map(|Manifest { path, content, head }| {
            let kind = head.kind.to_str_lossy();
            (*path, *content, kind)
        });
        for (path, text, kind) in objects.chain(hooks) {
            // Most objects are of other kinds, which the head tells; what has items is a list, whatever its kind.
            if may_be_record(&kind) || may_be_list(text) {
                self.check_text(text, path, reporter)?;
            }
        }
        Ok(())
    }

    /// Looks at the objects and hooks that a stored version brings.
    ///
    /// # Errors
    /// The first object that is refused.
    pub(crate) fn check_version(self, version: &ReleaseVersion, reporter: &mut dyn Reporter) -> Result<()> {
        self.check_text(version.manifest.as_bytes(), "manifest", reporter)?;
        let mut hooks = version.hooks.iter();
        hooks.try_for_each(|hook| self.check_text(hook.manifest.as_bytes(), &hook.path, reporter))
    }

    /// Looks at the objects of a text; members of lists count one by one.
    ///
    /// # Errors
    /// The first object that is refused.
    pub(crate) fn check_text(self, text: &[u8], path: &str, reporter: &mut dyn Reporter) -> Result<()> {
        if self == RecordObjects::Allow {
            return Ok(());
        }
        // What cannot be read is told about where objects are read for use, and nothing is applied then.
        let objects = Object::read_readable(text);
        for object in objects.iter().filter(|object| is_record(object)) {
            let error = Error::RecordObject {
                kind: object.kind().to_owned(),
                name: object.name().to_owned(),
                path: path.to_owned(),
            };
            match self {
                RecordObjects::Refuse => return Err(error),
                _ => reporter.log(LogLine::warn(error.to_string(), Vec::new())),
            }
        }
        Ok(())
    }
}

/// Whether an object of a kind can be a record.
fn may_be_record(kind: &str) -> bool {
    matches!(kind, "Secret" | "ConfigMap" | "Release" | "ReleaseVersion")
}

/// Whether a document can have `items`. The word can also be spelt with escapes or as another type, which few texts have.
fn may_be_list(text: &[u8]) -> bool {
    memchr::memchr2(b'\\', b'!', text).is_some() || memchr::memmem::find(text, b"items").is_some()
}

/// Whether a store could take an object for a record, or for a part of one.
fn is_record(object: &Object) -> bool {
    match object.kind() {
        "Release" | "ReleaseVersion" => object.api_version().starts_with(RELEASE_API_GROUP),
        "Secret" | "ConfigMap" => {
            let generated = object.text(&["metadata", "generateName"]);
            object.name().starts_with(RECORD_NAME_PREFIX)
                || generated.starts_with(RECORD_NAME_PREFIX)
                || object.label("owner") == Some("helm")
                || object.text(&["type"]).starts_with(secrets::RECORD_TYPE_PREFIX)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::BufferedReporter;
    use pintle_objects::Order;

    const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";

    fn check(policy: RecordObjects, text: &str) -> (Result<()>, usize) {
        let files = [("web/templates/a.yaml".to_owned(), text.as_bytes().to_vec())];
        let sorted = pintle_objects::sort(&files, Order::Install).expect("objects");
        let mut log = BufferedReporter::default();
        (policy.check(&sorted, &mut log), log.0.len())
    }

    #[test]
    fn whatever_a_store_could_take_for_a_record_is_refused() {
        for text in [
            &format!("{SECRET}type: helm.sh/release.v1\n"),
            &format!("{SECRET}type: \"helm.\\x73h/release-payload.v3\"\n"),
            "apiVersion: v1\nkind: Secret\nmetadata: {name: sh.helm.release.v1.web.v1}\n",
            "apiVersion: v1\nkind: Secret\nmetadata: {generateName: sh.helm.release.v1.web.v}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {owner: helm, name: web}}\n",
            "apiVersion: helm.sh/v3\nkind: Release\nmetadata: {name: web}\n",
            "apiVersion: helm.sh/v4\nkind: ReleaseVersion\nmetadata: {name: web}\n",
            "apiVersion: v1\nkind: List\nmetadata: {name: a}\nitems:\n\
             - {apiVersion: v1, kind: Secret, metadata: {name: a}, type: helm.sh/release.v1}\n",
            "apiVersion: example.com/v1\nkind: Shelf\nmetadata: {name: a}\n\"item\\x73\":\n\
             - {apiVersion: v1, kind: Secret, metadata: {name: a}, type: helm.sh/release.v1}\n",
            "apiVersion: helm.sh/v3\nkind: ReleaseList\nmetadata: {name: a}\nitems:\n- {apiVersion: helm.sh/v3, \
             kind: Release, metadata: {name: web}}\n",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: sh.helm.release.v1.web.v1, annotations: \
             {helm.sh/hook: pre-install}}\n",
        ] {
            let (refused, told) = check(RecordObjects::Refuse, text);
            assert!(matches!(refused, Err(Error::RecordObject { .. })) && told == 0, "{text}");
            let (allowed, told) = check(RecordObjects::Warn, text);
            assert!(allowed.is_ok() && told == 1, "{text}");
            assert!(matches!(check(RecordObjects::Allow, text), (Ok(()), 0)), "{text}");
        }
    }

    #[test]
    fn other_objects_are_left_alone() {
        for text in [
            SECRET,
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {owner: me}}\ntype: Opaque\n",
            "apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {name: web}\n",
            "apiVersion: example.com/v1\nkind: Release\nmetadata: {name: web}\n",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {owner: helm}}\n",
        ] {
            assert!(matches!(check(RecordObjects::Refuse, text), (Ok(()), 0)), "{text}");
        }
    }
}
