//! Detects rendered objects that look like release records. Stores trust what they find under these names, types and
//! labels, so a chart with such an object could forge what was installed, by whom and from what.

use pintle_objects::{Manifest, Object, Sorted};
#[cfg(feature = "cluster")]
use pintle_release::ReleaseVersion;
use pintle_tree::LogLine;

use crate::{Error, Reporter, Result};

/// The API group of our release kinds, with the slash before the version.
pub(crate) const RELEASE_API_GROUP: &str = "helm.sh/";

/// The prefix of the names of Helm's record Secrets and ConfigMaps.
pub(crate) const RECORD_NAME_PREFIX: &str = "sh.helm.release.v1.";

/// The prefix of the types of record Secrets. They contain the values of all releases.
const RECORD_TYPE_PREFIX: &str = "helm.sh/release";

/// What to do with a chart that contains objects which look like release records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordObjects {
    /// Refuses the chart.
    #[default]
    Refuse,
    /// Applies them with a warning.
    Warn,
    /// Applies them without a warning.
    Allow,
}

impl RecordObjects {
    /// Checks rendered documents, including hooks.
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
            // The parsed head rules out most documents cheaply. Anything with `items` may be a list with records
            // inside, whatever its kind says.
            if may_be_record(&kind) || may_be_list(text) {
                self.check_text(text, path, reporter)?;
            }
        }
        Ok(())
    }

    /// Checks the objects and hooks of a stored version.
    ///
    /// # Errors
    /// The first object that is refused.
    #[cfg(feature = "cluster")]
    pub(crate) fn check_version(self, version: &ReleaseVersion, reporter: &mut dyn Reporter) -> Result<()> {
        self.check_text(version.manifest.as_bytes(), "manifest", reporter)?;
        let mut hooks = version.hooks.iter();
        hooks.try_for_each(|hook| self.check_text(hook.manifest.as_bytes(), &hook.path, reporter))
    }

    /// Checks the objects of a manifest, including each member of a list.
    ///
    /// # Errors
    /// The first object that is refused.
    pub(crate) fn check_text(self, text: &[u8], path: &str, reporter: &mut dyn Reporter) -> Result<()> {
        if self == RecordObjects::Allow {
            return Ok(());
        }
        // Documents that do not parse are skipped: building the objects reports them later, before anything is
        // applied.
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

/// Returns whether an object of this kind can be a record.
fn may_be_record(kind: &str) -> bool {
    matches!(kind, "Secret" | "ConfigMap" | "Release" | "ReleaseVersion")
}

/// Returns whether a document may have an `items` field. The key can also be written with escapes or tags, so these
/// count as well.
fn may_be_list(text: &[u8]) -> bool {
    memchr::memchr2(b'\\', b'!', text).is_some() || memchr::memmem::find(text, b"items").is_some()
}

/// Returns whether a store could read an object as a record, or as part of one.
fn is_record(object: &Object) -> bool {
    match object.kind() {
        "Release" | "ReleaseVersion" => object.api_version().starts_with(RELEASE_API_GROUP),
        "Secret" | "ConfigMap" => {
            let generated = object.text(&["metadata", "generateName"]);
            object.name().starts_with(RECORD_NAME_PREFIX)
                || generated.starts_with(RECORD_NAME_PREFIX)
                || object.label("owner") == Some("helm")
                || object.text(&["type"]).starts_with(RECORD_TYPE_PREFIX)
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
            let (refused, outcome) = check(RecordObjects::Refuse, text);
            assert!(matches!(refused, Err(Error::RecordObject { .. })) && outcome == 0, "{text}");
            let (allowed, outcome) = check(RecordObjects::Warn, text);
            assert!(allowed.is_ok() && outcome == 1, "{text}");
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
