//! Validation before the first write: all objects of a manifest and all hooks are built, so that a release that
//! cannot be applied as a whole fails while the cluster is untouched.

use pintle_cluster::Cluster;
use pintle_hooks::EnvRule;
use pintle_objects::{Built, Object, Validation};

use super::three_way::AdoptionPolicy;
use super::{Executor, HookEvents};
use crate::{Error, Result};

/// How many documents are parsed before other tasks get their turn.
const DOCUMENTS_AT_A_TIME: usize = 16;

/// Which part of objects is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// Everything.
    All,
    /// Type and metadata: what it takes to find an object and its owner.
    Head,
}

impl Parts {
    fn of(self, mut object: Object) -> Object {
        if self == Parts::Head {
            object
                .body_mut()
                .retain(|key, _| matches!(key.as_str(), Some("apiVersion" | "kind" | "metadata")));
        }
        object
    }
}

/// Builds the objects of a manifest and sets the namespace where the kind is namespaced.
///
/// # Errors
/// All invalid documents together.
pub(crate) async fn objects(
    cluster: &Cluster,
    manifest: &str,
    namespace: &str,
    validation: Validation,
) -> Result<Vec<Object>> {
    parts(cluster, manifest, namespace, validation, Parts::All).await
}

/// As [`objects`], of which only parts are kept.
///
/// # Errors
/// All invalid documents together.
pub(super) async fn parts(
    cluster: &Cluster,
    manifest: &str,
    namespace: &str,
    validation: Validation,
    parts: Parts,
) -> Result<Vec<Object>> {
    if cluster.discards_writes() {
        // As Helm's `PrintingKubeClient`, which builds nothing and so finds nothing wrong.
        return Ok(Vec::new());
    }
    let mut objects = Vec::new();
    let mut errors = Vec::new();
    for (index, document) in pintle_objects::build(manifest.as_bytes(), validation).enumerate() {
        if index % DOCUMENTS_AT_A_TIME == DOCUMENTS_AT_A_TIME - 1 {
            // Parsing never waits, and other tasks of this thread must get their turn.
            tokio::task::yield_now().await;
        }
        match document {
            Ok(Built::Object(object)) => match scoped(cluster, object, namespace).await {
                Ok(object) => objects.push(parts.of(object)),
                Err(error) => errors.push(error.into()),
            },
            Ok(Built::List { list, members }) => {
                if let Err(error) = cluster.check_list(&list).await {
                    errors.push(error.into());
                    continue;
                }
                for member in members {
                    match member {
                        Ok(object) => match scoped(cluster, object, namespace).await {
                            Ok(object) => objects.push(parts.of(object)),
                            Err(error) => errors.push(unrecognized(error)),
                        },
                        Err(error) => errors.push(error.into()),
                    }
                }
            }
            Err(error) => errors.push(error.into()),
        }
    }
    all_or_errors(objects, errors)
}

/// Checks that every document of a manifest is an object with a name, without contacting the cluster.
///
/// # Errors
/// The first invalid document; `what` is Helm's name for the manifest.
pub(crate) fn check_documents(manifest: &str, what: &'static str) -> Result<()> {
    let failed = |error: pintle_objects::ObjectError| Error::Build { what, cause: Box::new(error.into()) };
    for object in Object::read_manifest(manifest.as_bytes(), "").map_err(failed)? {
        if object.name().is_empty() && object.text(&["metadata", "generateName"]).is_empty() {
            let text = "could not get information about the resource: resource name may not be empty";
            return Err(Error::Input(text.to_owned()));
        }
    }
    Ok(())
}

/// Sets or clears the namespace of each object by the scope of its kind.
pub(crate) async fn in_scope(
    cluster: &Cluster,
    mut objects: Vec<Object>,
    namespace: &str,
) -> Result<Vec<Object>> {
    let mut unknown = Vec::new();
    for object in &mut objects {
        if let Err(error) = cluster.scope(object, namespace).await {
            unknown.push(Error::from(error));
        }
    }
    all_or_errors(objects, unknown)
}

/// Returns the objects, or all errors as one.
fn all_or_errors(objects: Vec<Object>, mut errors: Vec<Error>) -> Result<Vec<Object>> {
    match errors.len() {
        0 => Ok(objects),
        1 => Err(errors.remove(0)),
        _ => Err(Error::Multiple { errors }),
    }
}

/// Sets the namespace of an object if its kind is namespaced.
async fn scoped(cluster: &Cluster, mut object: Object, namespace: &str) -> pintle_cluster::Result<Object> {
    cluster.scope(&mut object, namespace).await.map(|_| object)
}

/// Rewrites the error for a list member of an unknown kind. Helm resolves members through another code path, with
/// another message.
fn unrecognized(error: pintle_cluster::Error) -> Error {
    match error {
        pintle_cluster::Error::NoMapping { api_version, kind, .. } => {
            Error::Unrecognized(pintle_cluster::Error::NoSuchKind { api_version, kind })
        }
        other => other.into(),
    }
}

/// Adds Helm's prefix for a manifest that cannot be built. An upgrade has none, because Helm builds the objects there
/// before it wraps errors.
pub(super) fn failed(source: Error, follows: bool, adoption: AdoptionPolicy) -> Error {
    let what = match (follows, adoption) {
        (false, _) => "release manifest",
        (true, AdoptionPolicy::Unchecked) => "new release manifest",
        (true, _) => return source,
    };
    Error::Build { what, cause: Box::new(source) }
}

impl Executor<'_> {
    /// Builds the hooks that will run, so that an invalid one fails before anything is applied.
    ///
    /// # Errors
    /// The first hook that cannot be built, with the prefix of its event.
    pub(crate) fn check_hooks(&mut self, events: &HookEvents) -> Result<()> {
        if !self.options.hooks {
            return Ok(());
        }
        for (event, doing) in [events.before, events.after] {
            let due = self.version.hooks.iter().filter(|hook| hook.events.contains(&event));
            for stored in due {
                let built = self
                    .hooks
                    .get(stored)
                    .and_then(|hook| Ok(pintle_hooks::objects_for(hook, event, EnvRule::WhenAsked)?));
                if let Err(error) = built {
                    return Err(super::hooks::failed(doing, error));
                }
            }
        }
        Ok(())
    }
}
