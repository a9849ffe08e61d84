//! Lists Helm's records with one page in memory at a time, and decodes only what is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use pintle_objects::Object;
use pintle_release::helm;
use pintle_release::{Query, ReleaseHead, Selector, Summary, newest};
use pintle_tree::{Node, json};

use super::record_kind::RecordKind;
use super::{HelmStore, labels, optimistic_lock};
use crate::error::Result;
use crate::read::{ListParams, ListProgress, Page};

/// The size of the first page. Each release may take a megabyte.
const FIRST_PAGE: u32 = 16;
/// The target size of a page, so that memory does not grow with the number of releases. The size of one page
/// determines the limit of the next.
const MAX_PAGE_BYTES: usize = 4 << 20;
/// The page size for metadata.
const METADATA_PAGE_SIZE: u32 = 500;
/// Within how many bytes of a page its list metadata ends.
const MAX_LIST_HEAD_BYTES: usize = 16 << 10;
/// How many single releases are fetched at once.
const MAX_CONCURRENCY: usize = 16;

/// Namespaces and names of objects.
type ObjectNames = BTreeSet<(String, String)>;

/// What is wanted of the records that a selector finds.
#[derive(Clone)]
pub(super) enum Wanted {
    /// All of them.
    All,
    /// All of them, for an operation that may write some of them again.
    History,
    /// Some of them.
    Chosen(Arc<ObjectNames>),
}

impl<H: RecordKind> HelmStore<H> {
    /// Whether there are objects with these labels, whatever is in them.
    pub(super) async fn has_objects(&self, namespace: &str, selector: String) -> Result<bool> {
        let labels = format!("{selector},!{}", helm::MOVED_TO);
        let selection = ListParams { labels, limit: 1, uncompressed: true, ..ListParams::default() };
        let body = self.cluster.page_raw(&self.resource, namespace, &selection, "").await?;
        let page = json::read(&body).unwrap_or_default();
        Ok(page.get("items").and_then(Node::as_list).is_some_and(|items| !items.is_empty()))
    }

    /// Summarizes all releases with these labels. The next page is fetched while the current one is decoded.
    pub(super) async fn summaries(
        &self,
        namespace: &str,
        selector: String,
        wanted: Wanted,
    ) -> Result<Vec<Summary>> {
        let fetch = async |next: String, limit: u32| {
            let selection =
                ListParams { labels: selector.clone(), limit, uncompressed: true, ..ListParams::default() };
            self.cluster.page_raw(&self.resource, namespace, &selection, &next).await
        };
        let mut restarted = false;
        let mut found = Vec::new();
        let mut limit = FIRST_PAGE;
        let mut body = fetch(String::new(), limit).await?;
        let mut progress = ListProgress::new(&self.cluster, &self.resource);
        loop {
            let next = next_page(&body).unwrap_or_default();
            let next = progress.advance(body.len(), next)?.then(|| progress.next.clone());
            limit = next_limit(limit, body.len());
            let reading = self.read_page(body, wanted.clone());
            let Some(next) = next else {
                found.extend(reading.await?);
                return Ok(found);
            };
            let (read, following) = futures::join!(reading, fetch(next, limit));
            found.extend(read?);
            body = match following {
                // The `continue` token expired while we were reading; start over once.
                Err(error) if error.is_expired() && !restarted => {
                    restarted = true;
                    found.clear();
                    progress = ListProgress::new(&self.cluster, &self.resource);
                    fetch(String::new(), limit).await?
                }
                following => following?,
            };
        }
    }

    /// Decodes one page on a blocking thread, so that fetching goes on.
    async fn read_page(&self, body: Bytes, wanted: Wanted) -> Result<Vec<Summary>> {
        let resource = self.resource.clone();
        let read = move || {
            let page = Page::read(&body, &resource)?;
            let is_wanted = |object: &&Object| match &wanted {
                Wanted::Chosen(chosen) => {
                    chosen.contains(&(object.namespace().to_owned(), object.name().to_owned()))
                }
                Wanted::All | Wanted::History => true,
            };
            let markers = page.objects.iter().filter_map(marker).collect();
            let records = page.objects.iter().filter(|object| marker(object).is_none());
            let heads = records.clone().filter(|_| matches!(wanted, Wanted::History)).map(head).collect();
            Ok((records.filter(is_wanted).filter_map(summary::<H>).collect(), markers, heads))
        };
        let read: Result<(Vec<Summary>, Vec<Marker>, Vec<Head>)> =
            tokio::task::spawn_blocking(read).await.expect("reading a page does not panic");
        let (found, markers, heads) = read?;
        self.note_markers(markers);
        for (namespace, name, labels) in heads {
            self.timestamps.note_read(&namespace, &name, &labels);
        }
        Ok(found)
    }

    /// Lists the versions by their labels alone.
    pub(super) async fn list_metadata(&self, namespace: &str, selector: String) -> Result<Vec<Object>> {
        let selection = ListParams {
            labels: selector,
            limit: METADATA_PAGE_SIZE,
            metadata_only: true,
            uncompressed: true,
            ..ListParams::default()
        };
        let mut heads = self.cluster.list(&self.resource, namespace, &selection).await?;
        self.note_markers(heads.iter().filter_map(marker).collect());
        heads.retain(|head| marker(head).is_none());
        Ok(heads)
    }

    /// Remembers the markers that a list has found.
    fn note_markers(&self, markers: Vec<Marker>) {
        self.markers.lock().unwrap_or_else(PoisonError::into_inner).extend(markers);
    }

    /// The newest version of each release, by the labels of its record alone.
    pub(super) async fn newest_heads(&self, namespace: &str) -> Result<Vec<ReleaseHead>> {
        let heads = self.list_metadata(namespace, owned_by_helm(None)).await?;
        let mut newest: BTreeMap<(String, String), ReleaseHead> = BTreeMap::new();
        for head in heads {
            let Some(name) = head.label("name") else { continue };
            let status = pintle_release::Status::parse(head.label("status").unwrap_or_default());
            let found = ReleaseHead {
                namespace: head.namespace().to_owned(),
                name: name.to_owned(),
                number: head.label("version").and_then(|text| text.parse().ok()).unwrap_or(0),
                status: status.unwrap_or_default(),
                labels: labels(&head),
                summary: None,
            };
            let key = (found.namespace.clone(), found.name.clone());
            if newest.get(&key).is_none_or(|known| known.number < found.number) {
                newest.insert(key, found);
            }
        }
        Ok(newest.into_values().collect())
    }

    /// The newest matching version of each release.
    pub(super) async fn newest(&self, query: &Query, selector: &Selector) -> Result<Vec<Summary>> {
        let namespace = query.namespace.as_deref().unwrap_or_default();
        let heads = self.list_metadata(namespace, owned_by_helm(query.name.as_deref())).await?;
        let total = heads.len();
        let chosen = select_newest(heads, query, selector);
        let wanted = chosen.len();
        let found = self.chosen(namespace, query, chosen, total).await?;
        if found.len() == wanted {
            return Ok(found);
        }
        // The newest record of some release cannot be read: the newest that can be is shown, as in Helm.
        let all = self.summaries(namespace, owned_by_helm(query.name.as_deref()), Wanted::All).await?;
        Ok(newest(all, query, |version| selector.matches(&version.labels)))
    }

    /// Summarizes the chosen objects, of `total` that match the labels.
    async fn chosen(
        &self,
        namespace: &str,
        query: &Query,
        chosen: ObjectNames,
        total: usize,
    ) -> Result<Vec<Summary>> {
        if chosen.len() * 2 > total {
            // Most of the versions are needed: reading pages costs less than a request for each.
            let selector = owned_by_helm(query.name.as_deref());
            return self.summaries(namespace, selector, Wanted::Chosen(Arc::new(chosen))).await;
        }
        let fetch = |(namespace, name): (String, String)| async move {
            self.cluster.get_by_name(&self.resource, &namespace, &name).await
        };
        let objects = stream::iter(chosen).map(fetch).buffered(MAX_CONCURRENCY);
        let summaries = objects.map_ok(|object| object.as_ref().and_then(summary::<H>));
        Ok(summaries.try_collect::<Vec<_>>().await?.into_iter().flatten().collect())
    }
}

/// Namespace and name of a release that was moved, and the `HELM_DRIVER` of the store that it was moved to.
type Marker = ((String, String), String);

/// Namespace, name and labels of an object.
type Head = (String, String, BTreeMap<String, String>);

fn head(object: &Object) -> Head {
    (object.namespace().to_owned(), object.name().to_owned(), labels(object))
}

/// What an object says if it is a marker and not the record of a version.
fn marker(object: &Object) -> Option<Marker> {
    let to = object.label(helm::MOVED_TO)?.to_owned();
    Some(((object.namespace().to_owned(), object.label("name")?.to_owned()), to))
}

/// The label selector of all releases, or of one.
pub(super) fn owned_by_helm(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{},name={name}", helm::OWNER_SELECTOR),
        None => helm::OWNER_SELECTOR.to_owned(),
    }
}

/// Summarizes a record. Records that cannot be decoded are skipped, as in Helm.
pub(super) fn summary<H: RecordKind>(object: &Object) -> Option<Summary> {
    let summary = helm::summarize(&H::packed(object)?, &labels(object), object.namespace()).ok()?;
    let lease = helm::lease_from_annotations(|key| object.annotation(key));
    Some(Summary { lease, state: optimistic_lock::state(object), ..summary })
}

/// The limit of the next page, given how many bytes `limit` releases took.
fn next_limit(limit: u32, bytes: usize) -> u32 {
    // The last page may be short, but its size is not used any more.
    let each = (bytes / limit as usize).max(1);
    u32::try_from(MAX_PAGE_BYTES / each).unwrap_or(METADATA_PAGE_SIZE).clamp(1, METADATA_PAGE_SIZE)
}

/// The `continue` token, read from the beginning of a page: the list metadata precedes the items.
fn next_page(body: &[u8]) -> Option<String> {
    let head = &body[..body.len().min(MAX_LIST_HEAD_BYTES)];
    // Go writes the fields of a list in the order of its struct: kind, version, metadata, items.
    let marker = b"\"items\":";
    let items = head.windows(marker.len()).position(|window| window == marker)?;
    let text = [&head[..items], b"\"items\":null}"].concat();
    let head = Object::read_json(&text).ok()?;
    Some(head.text(&["metadata", "continue"]).to_owned()).filter(|next| !next.is_empty())
}

/// The objects that hold the newest version of each release, for those that match.
fn select_newest(heads: Vec<Object>, query: &Query, selector: &Selector) -> ObjectNames {
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
    let selected = |head: &Object| {
        let status = pintle_release::Status::parse(head.label("status").unwrap_or_default());
        query.matches_status(status.unwrap_or_default()) && selector.matches(&labels(head))
    };
    let heads = newest.into_values().map(|(_, head)| head).filter(selected);
    heads.map(|head| (head.namespace().to_owned(), head.name().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_objects::ObjectId;

    #[test]
    fn pages_hold_fewer_releases_when_these_are_larger() {
        assert_eq!(next_limit(16, 16 * 1_000), METADATA_PAGE_SIZE);
        assert_eq!(next_limit(16, 16 * 1_400_000), 2);
        assert_eq!(next_limit(2, 2 * 140_000), 29);
        assert_eq!((next_limit(1, 0), next_limit(1, usize::MAX)), (METADATA_PAGE_SIZE, 1));
    }

    #[test]
    fn the_continue_token_is_read_from_the_beginning_of_a_page() {
        let page = |text: &str| next_page(text.as_bytes());
        let more = r#"{"kind":"SecretList","metadata":{"continue":"abc"},"items":[{"data":"x"}]}"#;
        assert_eq!(page(more), Some("abc".to_owned()));
        assert_eq!(page(r#"{"metadata":{"resourceVersion":"5"},"items":[]}"#), None);
        assert_eq!(page("{}"), None);
    }

    #[test]
    fn the_newest_version_is_selected_before_the_status_is_compared() {
        let head = |name: &str, number: u64, status: &str| {
            let mut object =
                Object::from_id(&ObjectId::new("v1", "Secret", "ns", &helm::object_name(name, number)));
            for (key, value) in [("name", name), ("version", &number.to_string()), ("status", status)] {
                object.set_label(key, value);
            }
            object
        };
        let heads = vec![head("a", 10, "failed"), head("a", 9, "deployed"), head("b", 1, "deployed")];
        let query = Query { statuses: Some(vec![pintle_release::Status::Deployed]), ..Query::default() };
        let chosen = select_newest(heads, &query, &Selector::default());
        assert_eq!(chosen.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), ["sh.helm.release.v1.b.v1"]);
    }
}
