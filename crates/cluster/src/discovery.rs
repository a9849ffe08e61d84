//! Discovery: the server's version, the kinds it serves, and the mapping from kind to resource.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::{StreamExt, stream};
use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::{ApiStatus, Error, Result};
use crate::request::{Accept, Request};

/// How many discovery documents are fetched at once from servers without aggregated discovery.
const MAX_CONCURRENCY: usize = 16;
/// How long a kind that was not found is taken to be missing. Its CRD may be installed at any time.
const MISS_MAX_AGE: Duration = Duration::from_secs(10);

/// A resource: where the API serves the objects of a kind (a REST mapping).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version inside the group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural resource name in URLs.
    pub plural: String,
    /// Whether objects are namespaced.
    pub namespaced: bool,
}

impl Resource {
    /// A namespaced resource.
    pub fn new(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced: true,
        }
    }

    /// The resources that a CRD serves, one for each version.
    pub fn from_crd(definition: &Object) -> Vec<Self> {
        let names = |key| definition.text(&["spec", "names", key]);
        let versions = definition.at(&["spec", "versions"]).and_then(Node::as_list).unwrap_or_default();
        let served = versions.iter().filter(|version| version.get("served") == Some(&Node::Bool(true)));
        let resource = |version| Resource {
            namespaced: definition.text(&["spec", "scope"]) != "Cluster",
            ..Resource::new(definition.text(&["spec", "group"]), version, names("kind"), names("plural"))
        };
        served.filter_map(|version| version.get("name")?.as_str()).map(resource).collect()
    }

    /// The `apiVersion` of the kind's objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// How kinds are mapped to resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RestMapping {
    /// By what the server serves.
    #[default]
    Discovery,
    /// By convention: every kind exists, is namespaced, and its resource is its plural in lower case.
    Convention,
}

/// The server's version, as `/version` returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVersion {
    /// The full version, such as `v1.36.3`.
    pub git_version: String,
    /// The major version.
    pub major: String,
    /// The minor version; some vendors add a `+`.
    pub minor: String,
}

/// What templates see of a cluster as `.Capabilities`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCapabilities {
    /// The server's version.
    pub version: ServerVersion,
    /// Every group/version and group/version/Kind, sorted.
    pub api_versions: Vec<String>,
    /// Group versions that are registered but not available (stale aggregated APIs); Helm warns about them.
    pub unavailable_groups: Vec<String>,
}

/// The cached discovery results.
#[derive(Default)]
pub(crate) struct DiscoveryCache {
    version: OnceCell<ServerVersion>,
    known: Mutex<CachedKinds>,
    /// How long the kinds are good for; for ever if not set.
    max_age: OnceLock<Duration>,
}

#[derive(Default)]
struct CachedKinds {
    table: Option<(Instant, Arc<ServedKinds>)>,
    /// Kinds that were not found even after discovery was repeated, and when; keeps a typo from causing a discovery per
    /// object.
    misses: BTreeMap<String, Instant>,
}

/// All kinds that the server serves.
#[derive(Debug, Default)]
struct ServedKinds {
    /// By `apiVersion/Kind`.
    kinds: BTreeMap<String, Resource>,
    api_versions: BTreeSet<String>,
    unavailable: Vec<String>,
}

/// The path that client-go's discovery client uses, with its timeout. Error messages contain it.
const DISCOVERED_VERSION: &str = "/version?timeout=32s";

impl Cluster {
    /// Checks that the API server answers (Helm's `IsReachable`).
    ///
    /// # Errors
    /// [`Error::Unreachable`] when it does not.
    pub async fn check_reachable(&self) -> Result<()> {
        self.check_usable()?;
        self.version_from("/version").await.map(drop).map_err(|error| Error::Unreachable(Box::new(error)))
    }

    /// The server's version.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn version(&self) -> Result<&ServerVersion> {
        self.version_from(DISCOVERED_VERSION).await
    }

    async fn version_from(&self, path: &str) -> Result<&ServerVersion> {
        let fetch = async {
            let request = Request::get(path);
            let response = self.send(&request).await.map_err(generic_status)?;
            let object = Object::read_json(&response.body)
                .map_err(|error| Error::invalid_response("GET /version", error))?;
            let text = |key| object.text(&[key]).to_owned();
            Ok(ServerVersion { git_version: text("gitVersion"), major: text("major"), minor: text("minor") })
        };
        self.discovery_cache().version.get_or_try_init(|| fetch).await
    }

    /// Returns the server's version and API versions.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn capabilities(&self) -> Result<ServerCapabilities> {
        // Both at once, although the error of the version comes first: it is the one that Helm reports.
        let upstream = self.upstream();
        let (version, table) = futures::join!(upstream.version(), upstream.served_kinds());
        let version =
            version.map_err(|error| error.during("could not get server version from Kubernetes"))?.clone();
        let table = table.map_err(|error| error.during("could not get apiVersions from Kubernetes"))?;
        Ok(ServerCapabilities {
            version,
            api_versions: table.api_versions.iter().cloned().collect(),
            unavailable_groups: table.unavailable.clone(),
        })
    }

    /// Maps a kind to its resource. An unknown kind repeats discovery once, because its CRD may be new.
    ///
    /// # Errors
    /// [`Error::NoSuchKind`], or when the server does not answer.
    pub async fn resource(&self, api_version: &str, kind: &str) -> Result<Resource> {
        if let Some(resource) = well_known(api_version, kind) {
            return Ok(resource);
        }
        if self.rest_mapping() == RestMapping::Convention {
            return Ok(conventional_resource(&ObjectId::new(api_version, kind, "", "")));
        }
        let key = format!("{api_version}/{kind}");
        if let Some(resource) = self.served_kinds().await?.kinds.get(&key) {
            return Ok(resource.clone());
        }
        let is_announced = |kind_of: &&Resource| kind_of.kind == kind && kind_of.api_version() == api_version;
        // After the served kinds: once the CRD is established, what the server says about it counts.
        if let Some(resource) = self.announced_kinds().iter().find(is_announced) {
            return Ok(resource.clone());
        }
        // Held during discovery, so that many objects of one missing kind cause a single one.
        let mut known = self.discovery_cache().known.lock().await;
        // Whoever held it before may have found the kind.
        if let Some(resource) = known.table.as_ref().and_then(|(_, table)| table.kinds.get(&key)) {
            return Ok(resource.clone());
        }
        let is_recent = |missed: &Instant| missed.elapsed() < MISS_MAX_AGE;
        if !known.misses.get(&key).is_some_and(is_recent) {
            let table = Arc::new(self.discover().await?);
            let found = table.kinds.get(&key).cloned();
            known.table = Some((Instant::now(), table));
            if let Some(resource) = found {
                return Ok(resource);
            }
            known.misses.insert(key, Instant::now());
        }
        Err(Error::NoSuchKind { api_version: api_version.to_owned(), kind: kind.to_owned() })
    }

    /// Sets the namespace of an object by the scope of its kind: the default where a namespaced object has none, and
    /// none where the kind is cluster-scoped.
    ///
    /// # Errors
    /// [`Error::NoMapping`] when the server knows no such kind.
    pub async fn scope(&self, object: &mut Object, default_namespace: &str) -> Result<Resource> {
        let resource = self.resource(object.api_version(), object.kind()).await;
        let resource = resource.map_err(|error| match error {
            Error::NoSuchKind { api_version, kind } => Error::NoMapping {
                name: object.name().to_owned(),
                namespace: object.namespace().to_owned(),
                api_version,
                kind,
            },
            other => other,
        })?;
        match (resource.namespaced, object.namespace().is_empty()) {
            (true, true) => object.set_namespace(default_namespace),
            (false, false) => object.set_namespace(""),
            _ => {}
        }
        Ok(resource)
    }

    /// Checks that the server knows the kind of a list: a kind of its own, the list of a known kind, or `List` in any
    /// served version.
    ///
    /// # Errors
    /// [`Error::NoMapping`] when the server knows no such kind.
    pub async fn check_list(&self, list: &Object) -> Result<()> {
        let (api_version, kind) = (list.api_version(), list.kind());
        if kind == "List" && self.serves(api_version).await? {
            return Ok(());
        }
        if let Some(of) = kind.strip_suffix("List").filter(|of| !of.is_empty())
            && self.scope(&mut Object::from_id(&ObjectId::new(api_version, of, "", "")), "").await.is_ok()
        {
            return Ok(());
        }
        self.scope(&mut list.clone(), "").await.map(drop)
    }

    /// Whether the server serves the group version.
    pub(crate) async fn serves(&self, api_version: &str) -> Result<bool> {
        match self.rest_mapping() {
            RestMapping::Convention => Ok(true),
            RestMapping::Discovery => Ok(self.served_kinds().await?.api_versions.contains(api_version)),
        }
    }

    /// Whether the server serves a kind, by the cached discovery.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn serves_kind(&self, api_version: &str, kind: &str) -> Result<bool> {
        match self.rest_mapping() {
            RestMapping::Convention => Ok(true),
            RestMapping::Discovery => {
                Ok(self.served_kinds().await?.kinds.contains_key(&format!("{api_version}/{kind}")))
            }
        }
    }

    /// Repeats discovery when the cached kinds are older than this, for processes that run long enough for others to add and
    /// remove CRDs. Applies to all clones of this connection; only the first call has an effect.
    pub fn refresh_discovery_after(&self, max_age: Duration) {
        let _ = self.discovery_cache().max_age.set(max_age);
    }

    /// Drops the cached kinds, because CRDs were added or removed.
    pub async fn invalidate_discovery(&self) {
        *self.discovery_cache().known.lock().await = CachedKinds::default();
    }

    async fn served_kinds(&self) -> Result<Arc<ServedKinds>> {
        let cache = self.discovery_cache();
        // Held during discovery: callers that come meanwhile wait for this one instead of each asking the server.
        let mut known = cache.known.lock().await;
        let is_good = |at: &Instant| cache.max_age.get().is_none_or(|max_age| at.elapsed() < *max_age);
        if let Some((_, table)) = known.table.as_ref().filter(|(at, _)| is_good(at)) {
            return Ok(table.clone());
        }
        let table = Arc::new(self.discover().await?);
        known.table = Some((Instant::now(), table.clone()));
        Ok(table)
    }

    async fn discover(&self) -> Result<ServedKinds> {
        let (core, groups) = futures::join!(self.root("/api"), self.root("/apis"));
        let mut table = ServedKinds::default();
        for (root, read) in [("/api", core), ("/apis", groups)] {
            let Some(document) = read? else { continue };
            if document.kind() == "APIGroupDiscoveryList" {
                table.add_aggregated(&document);
            } else {
                self.discover_one_by_one(root, &document, &mut table).await;
            }
        }
        Ok(table)
    }

    /// Reads `/api` or `/apis`. A root that is forbidden or missing counts as empty.
    async fn root(&self, path: &str) -> Result<Option<Object>> {
        match self.send(&Request::get(path).accept(Accept::Discovery)).await {
            Ok(response) => Object::read_json(&response.body)
                .map(Some)
                .map_err(|error| Error::invalid_response(path, error)),
            Err(error) if error.is_not_found() || error.is_forbidden() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Servers without aggregated discovery list only groups here; the resources of each version are a document of
    /// their own.
    async fn discover_one_by_one(&self, root: &str, document: &Object, table: &mut ServedKinds) {
        let versions = if document.kind() == "APIVersions" {
            texts(document.at(&["versions"]))
        } else {
            list(document.at(&["groups"]))
                .iter()
                .flat_map(|group| list(group.get("versions")))
                .map(|version| text(version.get("groupVersion")).to_owned())
                .collect()
        };
        let fetched = stream::iter(versions).map(|version| async move {
            let read = self.send(&Request::get(format!("{root}/{version}"))).await;
            let document = read.ok().and_then(|response| Object::read_json(&response.body).ok());
            (version, document)
        });
        let documents: Vec<_> = fetched.buffered(MAX_CONCURRENCY).collect().await;
        for (version, document) in documents {
            // Even if its document cannot be read, because the group list names it. client-go differs here from
            // aggregated discovery, which leaves stale versions out of the groups.
            table.api_versions.insert(version.clone());
            match document {
                Some(document) => table.add_listed(&version, &document),
                None => table.unavailable.push(version),
            }
        }
    }
}

impl ServedKinds {
    fn add_aggregated(&mut self, document: &Object) {
        for group in list(document.at(&["items"])) {
            let name = text(group.get("metadata").and_then(|metadata| metadata.get("name")));
            for version in list(group.get("versions")) {
                let number = text(version.get("version"));
                let api_version =
                    if name.is_empty() { number.to_owned() } else { format!("{name}/{number}") };
                // Stale: an aggregated API whose server does not respond.
                if text(version.get("freshness")) == "Stale" {
                    self.unavailable.push(api_version);
                    continue;
                }
                for resource in list(version.get("resources")) {
                    self.add_aggregated_resource(&api_version, name, number, resource);
                }
                self.api_versions.insert(api_version);
            }
        }
    }

    fn add_aggregated_resource(&mut self, api_version: &str, group: &str, version: &str, resource: &Node) {
        let kind_of =
            |node: &Node| text(node.get("responseKind").and_then(|kind| kind.get("kind"))).to_owned();
        let kind = kind_of(resource);
        if !kind.is_empty() {
            let namespaced = text(resource.get("scope")) == "Namespaced";
            let made = Resource {
                namespaced,
                ..Resource::new(group, version, &kind, text(resource.get("resource")))
            };
            self.add(api_version, made);
        }
        // Subresource kinds such as `Scale` count for `.Capabilities.APIVersions` only.
        for part in list(resource.get("subresources")) {
            let kind = kind_of(part);
            if !kind.is_empty() {
                self.api_versions.insert(format!("{api_version}/{kind}"));
            }
        }
    }

    fn add_listed(&mut self, api_version: &str, document: &Object) {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        for resource in list(document.at(&["resources"])) {
            let (plural, kind) = (text(resource.get("name")), text(resource.get("kind")));
            // A slash marks a subresource, which counts for `.Capabilities.APIVersions` only.
            if plural.contains('/') {
                self.api_versions.insert(format!("{api_version}/{kind}"));
                continue;
            }
            let namespaced = resource.get("namespaced").and_then(Node::as_bool).unwrap_or_default();
            self.add(api_version, Resource { namespaced, ..Resource::new(group, version, kind, plural) });
        }
    }

    fn add(&mut self, api_version: &str, resource: Resource) {
        let key = format!("{api_version}/{}", resource.kind);
        self.api_versions.insert(key.clone());
        self.kinds.entry(key).or_insert(resource);
    }
}

/// client-go does not parse the body of a failed version request; its generic message is what scripts match.
fn generic_status(error: Error) -> Error {
    match error {
        Error::Api(status) => Error::Api(Box::new(ApiStatus::generic(status.code, "unknown"))),
        other => other,
    }
}

/// Core kinds that exist on every server, so that reading release records needs no discovery.
fn well_known(api_version: &str, kind: &str) -> Option<Resource> {
    let plural = match (api_version, kind) {
        ("v1", "Secret") => "secrets",
        ("v1", "ConfigMap") => "configmaps",
        ("v1", "Pod") => "pods",
        ("v1", "Event") => "events",
        ("v1", "Namespace") => {
            return Some(Resource { namespaced: false, ..Resource::new("", "v1", kind, "namespaces") });
        }
        _ => return None,
    };
    Some(Resource::new("", "v1", kind, plural))
}

fn list(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_list).unwrap_or_default()
}

fn text(node: Option<&Node>) -> &str {
    node.and_then(Node::as_str).unwrap_or_default()
}

fn texts(node: Option<&Node>) -> Vec<String> {
    list(node).iter().filter_map(Node::as_str).map(str::to_owned).collect()
}

/// The usual resource of a kind (client-go's `UnsafeGuessKindToResource`).
fn conventional_resource(id: &ObjectId) -> Resource {
    Resource::new(&id.group, &id.version, &id.kind, &format!("{}s", id.kind.to_lowercase()))
}
