//! Get and list requests.

use bytes::Bytes;
use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use crate::api_path;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::request::{Accept, Request};

/// The page size when the caller sets none; kubectl's default chunk size.
const DEFAULT_PAGE_SIZE: u32 = 500;
/// How many pages a list may have.
const MAX_PAGES: usize = 10_000;

/// The parameters of a list or watch, as kube-rs' `ListParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListParams {
    /// A label selector; empty for all.
    pub labels: String,
    /// A field selector; empty for all.
    pub fields: String,
    /// The page size; 0 for the default.
    pub limit: u32,
    /// Whether to request only the metadata.
    pub metadata_only: bool,
    /// Whether to request an uncompressed response, which is faster on a local network and for data that is
    /// compressed already.
    pub uncompressed: bool,
}

impl ListParams {
    /// Selects by labels.
    pub fn labels(labels: impl Into<String>) -> Self {
        ListParams { labels: labels.into(), ..ListParams::default() }
    }

    /// Appends the selectors to a URL.
    pub(crate) fn append_query(&self, path: &mut String) {
        if !self.labels.is_empty() {
            api_path::parameter(path, "labelSelector", &self.labels);
        }
        if !self.fields.is_empty() {
            api_path::parameter(path, "fieldSelector", &self.fields);
        }
    }
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The objects.
    pub objects: Vec<Object>,
    /// The `continue` token of the next page; empty when this is the last.
    pub next: String,
    /// The `resourceVersion` of the list, to start a watch from.
    pub resource_version: String,
}

impl Page {
    /// Parses a list. Its items get the kind, which the server leaves out.
    ///
    /// # Errors
    /// When the body is no list.
    pub fn read(body: &[u8], resource: &Resource) -> Result<Self> {
        let mut list =
            Object::read_json(body).map_err(|error| Error::invalid_response(&resource.plural, error))?;
        // Go writes a nil slice as `null`, so a list without `items` is empty and no error.
        let Some(Node::List(items)) = list.body_mut().remove("items") else {
            return Ok(Page {
                resource_version: list.text(&["metadata", "resourceVersion"]).to_owned(),
                ..Page::default()
            });
        };
        let api_version = resource.api_version();
        let objects = items
            .into_iter()
            .filter_map(|item| match item {
                Node::Map(mut body) => {
                    body.entry_or_insert_with(&"apiVersion".into(), || api_version.as_str().into());
                    body.entry_or_insert_with(&"kind".into(), || resource.kind.as_str().into());
                    Some(Object::new(body))
                }
                _ => None,
            })
            .collect();
        Ok(Page {
            objects,
            next: list.text(&["metadata", "continue"]).to_owned(),
            resource_version: list.text(&["metadata", "resourceVersion"]).to_owned(),
        })
    }
}

impl Cluster {
    /// Gets an object; `None` when it does not exist.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn get(&self, id: &ObjectId) -> Result<Option<Object>> {
        let resource = self.resource(&id.api_version(), &id.kind).await?;
        self.get_by_name(&resource, &id.namespace, &id.name).await
    }

    /// Gets an object of a known resource; `None` when it does not exist.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn get_by_name(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>> {
        match self.get_raw(resource, namespace, name).await? {
            Some(body) => Object::read_json(&body)
                .map(Some)
                .map_err(|error| Error::invalid_response(format!("GET {} {name}", resource.plural), error)),
            None => Ok(None),
        }
    }

    /// As [`Cluster::get_by_name`], but returns the JSON.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn get_raw(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Bytes>> {
        self.get_body(&Request::get(api_path::object(resource, namespace, name)?)).await
    }

    /// As [`Cluster::get_raw`], for content that is compressed already.
    pub(crate) async fn get_uncompressed(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Bytes>> {
        let request = Request::get(api_path::object(resource, namespace, name)?);
        self.get_body(&Request { uncompressed: true, ..request }).await
    }

    async fn get_body(&self, request: &Request) -> Result<Option<Bytes>> {
        match self.send(request).await {
            Ok(response) => Ok(Some(response.body)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gets the metadata of an object of a known resource; `None` when it does not exist.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn get_metadata(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>> {
        let request = Request::get(api_path::object(resource, namespace, name)?).accept(Accept::Metadata);
        match self.send(&request).await {
            Ok(response) => Object::read_json(&response.body)
                .map(Some)
                .map_err(|error| Error::invalid_response(format!("GET {} {name}", resource.plural), error)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists all matching objects, in one namespace or, when it is empty, in all namespaces.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: &str,
        selection: &ListParams,
    ) -> Result<Vec<Object>> {
        let mut objects = Vec::new();
        let mut progress = ListProgress::new(self, resource);
        let mut restarted = false;
        loop {
            match self.page_raw(resource, namespace, selection, &progress.next).await {
                Ok(body) => {
                    let page = Page::read(&body, resource)?;
                    objects.extend(page.objects);
                    if !progress.advance(body.len(), page.next)? {
                        return Ok(objects);
                    }
                }
                // The `continue` token expired while we were reading; start over once.
                Err(error) if error.is_expired() && !restarted => {
                    restarted = true;
                    objects.clear();
                    progress = ListProgress::new(self, resource);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads one page of a list. `next` is empty for the first page, and [`Page::next`] of the page before otherwise.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn page(
        &self,
        resource: &Resource,
        namespace: &str,
        selection: &ListParams,
        next: &str,
    ) -> Result<Page> {
        let body = self.page_raw(resource, namespace, selection, next).await?;
        Page::read(&body, resource)
    }

    /// As [`Cluster::page`], but returns the JSON.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn page_raw(
        &self,
        resource: &Resource,
        namespace: &str,
        selection: &ListParams,
        next: &str,
    ) -> Result<Bytes> {
        let mut path = api_path::collection(resource, namespace)?;
        selection.append_query(&mut path);
        let limit = if selection.limit == 0 { DEFAULT_PAGE_SIZE } else { selection.limit };
        api_path::parameter(&mut path, "limit", &limit.to_string());
        if !next.is_empty() {
            api_path::parameter(&mut path, "continue", next);
        }
        let accept = if selection.metadata_only { Accept::MetadataList } else { Accept::Json };
        let mut request = Request::get(path).accept(accept);
        request.uncompressed = selection.uncompressed;
        Ok(self.send(&request).await?.body)
    }

    /// Lists matching objects page by page, with one page in memory at a time.
    pub fn pages<'a>(
        &'a self,
        resource: &'a Resource,
        namespace: &'a str,
        selection: &'a ListParams,
    ) -> impl futures::Stream<Item = Result<Page>> + 'a {
        let first = ListProgress { max_bytes: usize::MAX, ..ListProgress::new(self, resource) };
        futures::stream::try_unfold(Some(first), move |progress| async move {
            let Some(mut progress) = progress else { return Ok(None) };
            let body = self.page_raw(resource, namespace, selection, &progress.next).await?;
            let page = Page::read(&body, resource)?;
            let has_more = progress.advance(body.len(), page.next.clone())?;
            Ok(Some((page, has_more.then_some(progress))))
        })
    }
}

/// How far a list has been read. A server must not lead in circles, or on for ever.
pub(crate) struct ListProgress {
    what: String,
    /// The `continue` token of the page to read; empty for the first one.
    pub(crate) next: String,
    pages: usize,
    bytes: usize,
    max_bytes: usize,
}

impl ListProgress {
    pub(crate) fn new(cluster: &Cluster, resource: &Resource) -> ListProgress {
        let what = format!("list of {}", resource.plural);
        ListProgress { what, next: String::new(), pages: 0, bytes: 0, max_bytes: cluster.limits().list }
    }

    /// Counts a page that was read. Returns whether there is another one.
    pub(crate) fn advance(&mut self, bytes: usize, next: String) -> Result<bool> {
        self.pages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if next.is_empty() {
            return Ok(false);
        }
        let wrong = |reason: String| Err(Error::too_much(self.what.clone(), reason));
        if next == self.next {
            return wrong("the server repeats its continue token".to_owned());
        }
        if self.pages >= MAX_PAGES {
            return wrong(format!("it has more than {MAX_PAGES} pages"));
        }
        if self.bytes > self.max_bytes {
            return wrong(format!("it has more than {} bytes", self.max_bytes));
        }
        self.next = next;
        Ok(true)
    }
}
