//! Releases as Helm keeps them: one Secret or ConfigMap for each version, in Helm's exact format.

mod succession;

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use pintle_objects::{Object, ObjectId};
use pintle_release::helm::{self, Stamp};
use pintle_release::{Answer, Claim, Query, ReleaseVersion, Selector, Store, StoreError, Summary, newest};
use pintle_tree::{Map, Node};

use super::{chance, wire};
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::Result;
use crate::read::{Page, Selection};

/// How many releases make the first page of a list. Each may take a megabyte.
const FIRST_PAGE: u32 = 16;
/// How many bytes a page may have, so that memory does not grow with the releases. From one page it is known how many
/// releases that makes in the next.
const PAGE_BYTES: usize = 4 << 20;
/// How many objects without their payload make a page.
const HEADS: u32 = 500;
/// Within how many bytes a page says where the list goes on.
const LONGEST_HEAD: usize = 16 << 10;
/// How many single releases are fetched at once.
const AT_ONCE: usize = 16;

/// How many bytes an object may hold. The server knows no other number.
const MOST: usize = 1 << 20;
/// How long a request may be; Helm's clients send records without a second base64, so that theirs are shorter.
const LONGEST_REQUEST: usize = 3 << 20;

/// Namespaces and names of objects.
type Chosen = BTreeSet<(String, String)>;

/// The kind of object that holds a release.
pub trait Holder: Send + Sync + 'static {
    /// What Helm calls the driver, which is also the kind.
    const KIND: &'static str;
    /// The word for the kind in addresses.
    const PLURAL: &'static str;

    /// What the server calls the part of the object that is too large.
    const LARGE_PART: &'static str;

    /// What Helm says before a failure: of Secrets what was being done, of ConfigMaps nothing.
    fn words(action: &str) -> &str;

    /// Puts a packed release into an object.
    fn fill(body: &mut Map<Node>, packed: String);

    /// The packed release of an object.
    fn packed(object: &Object) -> Option<Vec<u8>>;
}

/// Releases in Secrets.
#[derive(Debug)]
pub enum Secrets {}

/// Releases in ConfigMaps.
#[derive(Debug)]
pub enum ConfigMaps {}

impl Holder for Secrets {
    const KIND: &'static str = "Secret";
    const PLURAL: &'static str = "secrets";
    const LARGE_PART: &'static str = "data";

    fn words(action: &str) -> &str {
        action
    }

    fn fill(body: &mut Map<Node>, packed: String) {
        body.insert("type".into(), helm::SECRET_TYPE.into());
        // What is base64 already is base64 once more, because a Secret's data always is.
        body.insert("data".into(), data(BASE64.encode(packed)));
    }

    fn packed(object: &Object) -> Option<Vec<u8>> {
        BASE64.decode(text(object)?).ok()
    }
}

impl Holder for ConfigMaps {
    const KIND: &'static str = "ConfigMap";
    const PLURAL: &'static str = "configmaps";
    const LARGE_PART: &'static str = "[]";

    fn words(_: &str) -> &str {
        ""
    }

    fn fill(body: &mut Map<Node>, packed: String) {
        body.insert("data".into(), data(packed));
    }

    fn packed(object: &Object) -> Option<Vec<u8>> {
        text(object).map(<[u8]>::to_vec)
    }
}

fn data(text: String) -> Node {
    Node::Map(Map::from_entries(vec![(helm::DATA_KEY.into(), text.into())]))
}

fn text(object: &Object) -> Option<&[u8]> {
    object.at(&["data", helm::DATA_KEY]).and_then(Node::as_text).map(|text| text.as_bytes())
}

/// Keeps releases as Helm does.
#[derive(Debug)]
pub struct HelmStore<H> {
    cluster: Cluster,
    resource: Resource,
    holder: PhantomData<H>,
}

/// Keeps releases in Secrets, Helm's default.
pub type HelmSecrets = HelmStore<Secrets>;

/// Keeps releases in ConfigMaps.
pub type HelmConfigMaps = HelmStore<ConfigMaps>;

impl<H: Holder> HelmStore<H> {
    /// Returns a store in this cluster.
    pub fn new(cluster: Cluster) -> Self {
        HelmStore { cluster, resource: Resource::new("", "v1", H::KIND, H::PLURAL), holder: PhantomData }
    }

    /// The object of a version. One that is too large is refused here, as the server would, before it is sent.
    fn object(
        version: &ReleaseVersion,
        claim: Option<&Claim>,
        stamp: Stamp,
        action: Action,
    ) -> Result<Object, StoreError> {
        let encoded = helm::encode(version).map_err(|source| StoreError::Unwritable {
            action: action.verb,
            name: version.name.clone(),
            source,
        })?;
        let name = helm::object_name(&version.name, version.number);
        let packed = helm::pack(&encoded);
        if packed.len() > MOST {
            return Err(too_large::<H>(&name, packed.len(), action));
        }
        let mut object = Object::of(&ObjectId::new("v1", H::KIND, &version.namespace, &name));
        let labels = helm::labels(version, stamp);
        object.metadata_mut().insert("labels".into(), wire::texts(&labels));
        for (key, value) in claim.map(helm::claim_annotations).into_iter().flatten() {
            object.set_annotation(key, &value);
        }
        H::fill(object.body_mut(), packed);
        Ok(object)
    }

    async fn read(
        &self,
        namespace: &str,
        name: &str,
        number: u64,
    ) -> Result<Option<ReleaseVersion>, StoreError> {
        let key = helm::object_name(name, number);
        let found = self.cluster.get_at(&self.resource, namespace, &key).await;
        let Some(object) = found.map_err(wire::failed(H::words(&format!("get: failed to get {key:?}"))))?
        else {
            return Ok(None);
        };
        let decoded =
            helm::unpack(&H::packed(&object).unwrap_or_default()).and_then(|json| helm::decode(&json));
        let mut version = decoded.map_err(|source| StoreError::Unreadable { key, source })?;
        version.labels = helm::user_labels(labels(&object));
        if version.namespace.is_empty() {
            namespace.clone_into(&mut version.namespace);
        }
        Ok(Some(version))
    }

    /// Sums up all releases with these labels, one page in memory at a time. The next page is on its way while this one
    /// is read.
    async fn summaries(
        &self,
        namespace: &str,
        selector: String,
        wanted: Option<Arc<Chosen>>,
    ) -> Result<Vec<Summary>> {
        let fetch = async |next: String, limit: u32| {
            let selection =
                Selection { labels: selector.clone(), limit, plain: true, ..Selection::default() };
            self.cluster.page_body(&self.resource, namespace, &selection, &next).await
        };
        let mut restarted = false;
        let mut found = Vec::new();
        let mut limit = FIRST_PAGE;
        let mut body = fetch(String::new(), limit).await?;
        loop {
            let next = next_page(&body);
            limit = next_limit(limit, body.len());
            let reading = self.read_page(body, wanted.clone());
            let Some(next) = next else {
                found.extend(reading.await?);
                return Ok(found);
            };
            let (read, following) = futures::join!(reading, fetch(next, limit));
            found.extend(read?);
            body = match following {
                // The list grew too old while we read it; the next reading starts with fresher pages.
                Err(error) if error.is_expired() && !restarted => {
                    restarted = true;
                    found.clear();
                    fetch(String::new(), limit).await?
                }
                following => following?,
            };
        }
    }

    /// Sums up the releases of one page, beside whatever else is going on.
    async fn read_page(&self, body: Bytes, wanted: Option<Arc<Chosen>>) -> Result<Vec<Summary>> {
        let resource = self.resource.clone();
        let read = move || {
            let page = Page::read(&body, &resource)?;
            let is_wanted = |object: &&Object| {
                wanted.as_ref().is_none_or(|wanted| {
                    wanted.contains(&(object.namespace().to_owned(), object.name().to_owned()))
                })
            };
            Ok(page.objects.iter().filter(is_wanted).filter_map(summary::<H>).collect())
        };
        tokio::task::spawn_blocking(read).await.expect("reading a page does not panic")
    }

    /// Which versions there are, from their labels alone.
    async fn heads(&self, namespace: &str, selector: String) -> Result<Vec<Object>> {
        let selection = Selection {
            labels: selector,
            limit: HEADS,
            metadata_only: true,
            plain: true,
            ..Selection::default()
        };
        self.cluster.list(&self.resource, namespace, &selection).await
    }

    /// The newest version of each release that is wanted.
    async fn newest(&self, query: &Query, selector: &Selector) -> Result<Vec<Summary>> {
        let namespace = query.namespace.as_deref().unwrap_or_default();
        let heads = self.heads(namespace, owned_by_helm(query.name.as_deref())).await?;
        let total = heads.len();
        let chosen = choose(heads, query, selector);
        if chosen.len() * 2 > total {
            // Most of what is there is wanted: reading pages costs less than asking for each.
            let selector = owned_by_helm(query.name.as_deref());
            return self.summaries(namespace, selector, Some(Arc::new(chosen))).await;
        }
        let fetch = |(namespace, name): (String, String)| async move {
            self.cluster.get_at(&self.resource, &namespace, &name).await
        };
        let objects = stream::iter(chosen).map(fetch).buffered(AT_ONCE);
        let summaries = objects.map_ok(|object| object.as_ref().and_then(summary::<H>));
        Ok(summaries.try_collect::<Vec<_>>().await?.into_iter().flatten().collect())
    }
}

/// What is being done to a record, in Helm's words.
#[derive(Clone, Copy)]
struct Action {
    verb: &'static str,
    failure: &'static str,
}

const CREATE: Action = Action { verb: "create", failure: "create: failed to create" };
const UPDATE: Action = Action { verb: "update", failure: "update: failed to update" };

fn too_large<H: Holder>(name: &str, size: usize, action: Action) -> StoreError {
    let reason = match size < LONGEST_REQUEST - MOST / 512 {
        true => format!(
            "{} {name:?} is invalid: {}: Too long: may not be more than {MOST} bytes",
            H::KIND,
            H::LARGE_PART
        ),
        false => format!("Request entity too large: limit is {LONGEST_REQUEST}"),
    };
    StoreError::TooLarge { action: H::words(action.failure), reason, size, kind: H::KIND }
}

/// The selector of all releases, or of one.
fn owned_by_helm(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{},name={name}", helm::OWNER_SELECTOR),
        None => helm::OWNER_SELECTOR.to_owned(),
    }
}

fn labels(object: &Object) -> BTreeMap<String, String> {
    wire::text_map(object.at(&["metadata", "labels"]))
}

/// What lists show of a release; what cannot be decoded is passed over, as in Helm.
fn summary<H: Holder>(object: &Object) -> Option<Summary> {
    let summary = helm::summarize(&H::packed(object)?, &labels(object), object.namespace()).ok()?;
    let claim = helm::claim_of(|key| object.annotation(key));
    Some(Summary { claim, state: succession::state(object), ..summary })
}

/// How many releases the next page shall have, when a page of `limit` releases took so many bytes.
fn next_limit(limit: u32, bytes: usize) -> u32 {
    let each = (bytes / limit as usize).max(1);
    u32::try_from(PAGE_BYTES / each).unwrap_or(HEADS).clamp(1, HEADS)
}

/// Where the list goes on, told from the beginning of a page, before which nothing large stands.
fn next_page(body: &[u8]) -> Option<String> {
    let head = &body[..body.len().min(LONGEST_HEAD)];
    let mark = b"\"items\":";
    let items = head.windows(mark.len()).position(|window| window == mark)?;
    let text = [&head[..items], b"\"items\":null}"].concat();
    let head = Object::read_json(&text).ok()?;
    Some(head.text(&["metadata", "continue"]).to_owned()).filter(|next| !next.is_empty())
}

/// The objects that hold the newest version of each release, of those whose newest version is wanted.
fn choose(heads: Vec<Object>, query: &Query, selector: &Selector) -> Chosen {
    let mut newest: BTreeMap<(String, String), (u64, Object)> = BTreeMap::new();
    for head in heads {
        let number = head.label("version").and_then(|text| text.parse().ok()).unwrap_or(0);
        let key = (head.namespace().to_owned(), head.label("name").unwrap_or_default().to_owned());
        match newest.get(&key) {
            Some((known, _)) if *known >= number => {}
            _ => {
                newest.insert(key, (number, head));
            }
        }
    }
    let wanted = |head: &Object| {
        let status = pintle_release::Status::from_word(head.label("status").unwrap_or_default());
        query.wants(status.unwrap_or_default()) && selector.matches(&labels(head))
    };
    let heads = newest.into_values().map(|(_, head)| head).filter(wanted);
    heads.map(|head| (head.namespace().to_owned(), head.name().to_owned())).collect()
}

impl<H: Holder> Store for HelmStore<H> {
    fn driver(&self) -> &'static str {
        H::KIND
    }

    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        claim: Option<&'a Claim>,
        after: Option<&'a Summary>,
    ) -> Answer<'a, ()> {
        Box::pin(async move {
            let name = version.name.clone();
            let object = Self::object(version, claim, Stamp::Created(chance::now()), CREATE)?;
            match wire::create(&self.cluster, &self.resource, &object).await {
                Ok(_) => {}
                Err(error) if error.is_already_exists() => {
                    return Err(StoreError::Exists { name, number: version.number });
                }
                Err(error) => return Err(wire::failed(H::words(CREATE.failure))(error)),
            }
            let Some(after) = after else { return Ok(()) };
            let noted = self.note_successor(version, after).await;
            if noted.is_err() {
                // Nothing was done under it yet. When it cannot be deleted, its claim runs out.
                let at = (object.namespace(), object.name());
                let _ = wire::delete(&self.cluster, &self.resource, at, "").await;
            }
            noted
        })
    }

    fn update<'a>(&'a self, version: &'a ReleaseVersion, claim: Option<&'a Claim>) -> Answer<'a, ()> {
        Box::pin(async move {
            let name = version.name.clone();
            let object = Self::object(version, claim, Stamp::Modified(chance::now()), UPDATE)?;
            match wire::replace(&self.cluster, &self.resource, &object).await {
                Ok(_) => Ok(()),
                Err(error) if error.is_not_found() => {
                    Err(StoreError::NotFound { name, number: version.number })
                }
                Err(error) => Err(wire::failed(H::words(UPDATE.failure))(error)),
            }
        })
    }

    fn swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        claim: Option<&'a Claim>,
    ) -> Answer<'a, String> {
        Box::pin(self.replace_seen(seen, version, claim))
    }

    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        claim: &'a Claim,
    ) -> Answer<'a, ()> {
        Box::pin(async move {
            let path = |key: &str| format!("/metadata/annotations/{}", key.replace('/', "~1"));
            let mut steps = vec![wire::step("test", &path(helm::HOLDER), claim.holder.as_str())];
            let fields = helm::claim_annotations(claim).into_iter();
            steps.extend(fields.map(|(key, value)| wire::step("add", &path(key), value)));
            let key = helm::object_name(name, number);
            match wire::steps(&self.cluster, &self.resource, (namespace, &key), steps).await {
                Ok(Some(_)) => Ok(()),
                Ok(None) => {
                    Err(StoreError::Lost { name: name.to_owned(), number, winner: None, holder: None })
                }
                Err(error) if error.is_not_found() => {
                    Err(StoreError::NotFound { name: name.to_owned(), number })
                }
                Err(error) => Err(wire::failed(H::words(UPDATE.failure))(error)),
            }
        })
    }

    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> Answer<'a, Option<ReleaseVersion>> {
        Box::pin(self.read(namespace, name, number))
    }

    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> Answer<'a, Vec<Summary>> {
        Box::pin(async move {
            let found = self.summaries(namespace, owned_by_helm(Some(name)), None).await;
            let mut found = found.map_err(wire::failed(H::words("query: failed to query with labels")))?;
            found.sort_by_key(|version| version.number);
            Ok(found)
        })
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Vec<Summary>> {
        Box::pin(async move {
            let selector = query.selector()?;
            let namespace = query.namespace.as_deref().unwrap_or_default();
            let mut labels_wanted = owned_by_helm(query.name.as_deref());
            if !selector.is_empty() {
                labels_wanted = format!("{labels_wanted},{}", query.selector);
            }
            if let Some(statuses) = &query.statuses
                && !statuses.is_empty()
                && !statuses.contains(&pintle_release::Status::Unknown)
            {
                let words: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
                labels_wanted = format!("{labels_wanted},status in ({})", words.join(","));
            }
            let found = self.summaries(namespace, labels_wanted, None).await;
            let mut found = found.map_err(wire::failed(H::words("list: failed to list")))?;
            found.retain(|version| query.wants(version.status));
            found.sort_by(|a, b| (&a.namespace, &a.name, a.number).cmp(&(&b.namespace, &b.name, b.number)));
            Ok(found)
        })
    }

    fn latest<'a>(&'a self, query: &'a Query) -> Answer<'a, Vec<Summary>> {
        Box::pin(async move {
            let selector = query.selector()?;
            let found = self.newest(query, &selector).await;
            let found = found.map_err(wire::failed(H::words("list: failed to list")))?;
            Ok(newest(found, query, |_| true))
        })
    }

    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> Answer<'a, ()> {
        Box::pin(async move {
            let key = helm::object_name(name, number);
            match wire::delete(&self.cluster, &self.resource, (namespace, &key), "").await {
                Ok(true) => Ok(()),
                Ok(false) => Err(StoreError::NotFound { name: name.to_owned(), number }),
                Err(error) => Err(wire::failed("")(error)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> ReleaseVersion {
        ReleaseVersion {
            name: "web".into(),
            namespace: "ns".into(),
            number: 3,
            manifest: "kind: A\n".into(),
            labels: [("team".to_owned(), "a".to_owned())].into(),
            ..ReleaseVersion::default()
        }
    }

    #[test]
    fn pages_hold_fewer_releases_when_these_are_larger() {
        assert_eq!(next_limit(16, 16 * 1_000), HEADS);
        assert_eq!(next_limit(16, 16 * 1_400_000), 2);
        assert_eq!(next_limit(2, 2 * 140_000), 29);
        assert_eq!((next_limit(1, 0), next_limit(1, usize::MAX)), (HEADS, 1));
    }

    #[test]
    fn what_is_too_large_is_refused_in_the_servers_words() {
        let mut state = 1_u64;
        let letter = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b'0' + (state >> 58) as u8)
        };
        let mut version = version();
        version.manifest = (0..1_600_000).map(letter).collect();
        let stamp = Stamp::Created(chance::now());
        let refused = HelmSecrets::object(&version, None, stamp, CREATE).expect_err("too large");
        assert_eq!(
            refused.to_string(),
            "create: failed to create: Secret \"sh.helm.release.v1.web.v3\" is invalid: data: Too long: may not be more than 1048576 bytes"
        );
        let refused = HelmConfigMaps::object(&version, None, stamp, UPDATE).expect_err("too large");
        assert_eq!(
            refused.to_string(),
            "ConfigMap \"sh.helm.release.v1.web.v3\" is invalid: []: Too long: may not be more than 1048576 bytes"
        );
    }

    #[test]
    fn secrets_and_config_maps_hold_the_same_release() {
        let claim = Claim::new("me", chance::now(), 30);
        let stamp = Stamp::Created(chance::now());
        let secret = HelmSecrets::object(&version(), Some(&claim), stamp, CREATE).expect("can be written");
        let map = HelmConfigMaps::object(&version(), None, stamp, CREATE).expect("can be written");
        assert_eq!(secret.text(&["type"]), "helm.sh/release.v1");
        assert_eq!(secret.name(), "sh.helm.release.v1.web.v3");
        assert_eq!(Secrets::packed(&secret), ConfigMaps::packed(&map));
        let read = summary::<Secrets>(&secret).expect("a release");
        assert_eq!((read.name.as_str(), read.number, read.claim), ("web", 3, Some(claim)));
        assert_eq!(read.labels.into_keys().collect::<Vec<_>>(), ["team"]);
        assert_eq!(summary::<ConfigMaps>(&map).expect("a release").claim, None);
    }

    #[test]
    fn a_page_tells_early_where_the_list_goes_on() {
        let page = |text: &str| next_page(text.as_bytes());
        let more = r#"{"kind":"SecretList","metadata":{"continue":"abc"},"items":[{"data":"x"}]}"#;
        assert_eq!(page(more), Some("abc".to_owned()));
        assert_eq!(page(r#"{"metadata":{"resourceVersion":"5"},"items":[]}"#), None);
        assert_eq!(page("{}"), None);
    }

    #[test]
    fn the_newest_is_chosen_before_states_are_looked_at() {
        let head = |name: &str, number: u64, status: &str| {
            let mut object =
                Object::of(&ObjectId::new("v1", "Secret", "ns", &helm::object_name(name, number)));
            for (key, value) in [("name", name), ("version", &number.to_string()), ("status", status)] {
                object.set_label(key, value);
            }
            object
        };
        let heads = vec![head("a", 10, "failed"), head("a", 9, "deployed"), head("b", 1, "deployed")];
        let query = Query { statuses: Some(vec![pintle_release::Status::Deployed]), ..Query::default() };
        let chosen = choose(heads, &query, &Selector::default());
        assert_eq!(chosen.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), ["sh.helm.release.v1.b.v1"]);
    }
}
