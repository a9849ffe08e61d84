//! `list_page`: some of the releases, without reading the records of all others.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _, stream};
use pintle_regex::Regex;
use pintle_release::{ReleaseHead, Selector, Status, Store, Summary};

use super::list::{is_listed, selectable_labels};
use crate::records::searched_stores;
use crate::{Error, Result, Session};

/// How many records are read at once.
const MAX_CONCURRENT_READS: usize = 16;

/// Which releases to list, and how many.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// The namespace; `None` for all.
    pub namespace: Option<String>,
    /// The statuses to list; empty for all.
    pub statuses: Vec<Status>,
    /// A regular expression that the name must match; empty for any.
    pub filter: String,
    /// A label selector; empty for any.
    pub selector: String,
    /// How many releases the page has at most; 0 for 50.
    pub limit: usize,
    /// [`ReleasePage::next`] of the page before; `None` for the first one.
    pub after: Option<String>,
}

/// Some releases, by name and namespace.
#[derive(Clone, Debug, Default)]
pub struct ReleasePage {
    /// The releases, each by its newest version.
    pub releases: Vec<Summary>,
    /// What to ask for the page after this one with; `None` when this is the last.
    pub next: Option<String>,
    /// How many releases match, on all pages.
    pub total: usize,
}

/// Lists releases page by page. Matching, counting and sorting reads only labels and summaries; the records of Helm's stores,
/// which may have a megabyte each, are read for the releases of the page. A page begins after the last release of the one before,
/// so that releases which come and go meanwhile shift nothing. Handlers of list events are not called.
///
/// ```
/// use std::sync::Arc;
///
/// use pintle::ops::{CreateRequest, InstallRequest, PageRequest, create, install, list_page};
/// use pintle::release::MemoryStore;
/// use pintle::{Session, Silent, embedded};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let chart = create(&Session::offline(), &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
/// # let api = embedded::Embedded::default().open().await?;
/// # let session = Session::new(embedded::cluster(&api, "default"), Arc::new(MemoryStore::new()));
/// # for name in ["a", "b", "c"] {
/// #     let (name, namespace) = (name.to_owned(), "default".to_owned());
/// #     let request = InstallRequest { chart: chart.clone().into(), name, namespace, ..InstallRequest::default() };
/// #     install(&session, &request, &mut Silent).await?;
/// # }
/// let mut request = PageRequest { limit: 2, ..PageRequest::default() };
/// let first = list_page(&session, &request).await?;
/// assert_eq!((first.releases.len(), first.total), (2, 3));
/// request.after = first.next;
/// let last = list_page(&session, &request).await?;
/// assert_eq!((last.releases[0].name.as_str(), last.next), ("c", None));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the filter or the selector is invalid, or a store cannot be read.
pub async fn list_page(session: &Session, request: &PageRequest) -> Result<ReleasePage> {
    let matching = matching(session, request).await?;
    let total = matching.len();
    let limit = if request.limit == 0 { DEFAULT_LIMIT } else { request.limit };
    let begin = match &request.after {
        None => 0,
        Some(after) => matching.partition_point(|(_, head)| cursor(head).as_str() <= after.as_str()),
    };
    let page: Vec<_> = matching.into_iter().skip(begin).take(limit).collect();
    let next = page.last().filter(|_| begin + page.len() < total).map(|(_, head)| cursor(head));
    let reads: Vec<_> = page.into_iter().map(|(store, head)| summary(store, head).boxed()).collect();
    let mut reads = stream::iter(reads).buffered(MAX_CONCURRENT_READS);
    let mut releases = Vec::new();
    while let Some(read) = reads.next().await {
        releases.extend(read?);
    }
    Ok(ReleasePage { releases, next, total })
}

/// The size of a page when the request has none.
const DEFAULT_LIMIT: usize = 50;

/// Where a release is in the order. Names and namespaces have no blanks, which sort before whatever they have.
fn cursor(head: &ReleaseHead) -> String {
    format!("{} {}", head.name, head.namespace)
}

/// The releases that match, in their order, each with its store.
async fn matching(session: &Session, request: &PageRequest) -> Result<Vec<(Arc<dyn Store>, ReleaseHead)>> {
    let filter = match request.filter.as_str() {
        "" => None,
        pattern => Some(Regex::compile(pattern).map_err(|error| Error::Input(error.to_string()))?),
    };
    let selector = Selector::parse(&request.selector).map_err(Error::Input)?;
    let mut found: BTreeMap<String, (Arc<dyn Store>, ReleaseHead)> = BTreeMap::new();
    for store in searched_stores(session) {
        for head in store.heads(request.namespace.as_deref()).await? {
            let known = found.get(&cursor(&head));
            // Of equal versions the first: a release that is being moved is in two stores.
            if known.is_none_or(|(_, known)| known.number < head.number) {
                found.insert(cursor(&head), (Arc::clone(&store), head));
            }
        }
    }
    let matches = |head: &ReleaseHead| {
        filter.as_ref().is_none_or(|filter| filter.is_match(head.name.as_bytes()))
            && is_listed(head.status, &request.statuses)
            && selector.matches(&selectable_labels(&head.labels, &head.name, head.status, head.number))
    };
    Ok(found.into_values().filter(|(_, head)| matches(head)).collect())
}

/// The summary of a release; `None` if it was deleted meanwhile.
async fn summary(store: Arc<dyn Store>, head: ReleaseHead) -> Result<Option<Summary>> {
    let ReleaseHead { namespace, name, number, summary, .. } = head;
    let read = match summary {
        Some(summary) => Some(*summary),
        None => match store.summary(&namespace, &name, number).await? {
            Some(summary) => Some(summary),
            // The newest record cannot be read: as in lists, the newest that can be is shown.
            None => store.history(&namespace, &name).await?.pop(),
        },
    };
    Ok(read.map(|read| Summary { store: store.driver_word(), ..read }))
}
