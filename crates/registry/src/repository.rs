//! The endpoints of the OCI distribution API, one function each.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RANGE};
use http::{Method, StatusCode, Uri};
use pintle_tree::Node;
use pintle_tree::quote::quote;

use crate::auth::token::{Scope, encode};
use crate::client::{Call, Client, location};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{self, Descriptor, INDEX, MANIFEST_LIMIT, Manifest};
use crate::name::{ImageName, Repository};
use crate::transport::Answer;

/// The maximum number of pages of a list.
const MAX_PAGES: usize = 10_000;

/// The maximum number of referrers of a manifest.
const MAX_REFERRERS: usize = 100_000;

/// The result of a cross-repository mount.
pub(crate) enum Mounted {
    /// The blob was mounted.
    Done,
    /// The blob must be uploaded to this URL.
    Upload(Uri),
}

impl Client {
    /// Fetches a manifest; `None` if it does not exist.
    pub(crate) async fn manifest(&self, name: &ImageName) -> Result<Option<Manifest>> {
        let uri = self.address(&name.repository, &format!("manifests/{}", name.reference())).await?;
        let call = Call::new(Method::GET, uri, Scope::Pull(name.repository.clone()));
        let answer = self.call(&call.header(ACCEPT, manifest::ACCEPT)).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(answer.error().await),
        }
        let media_type = answer.header("content-type").unwrap_or_default().to_owned();
        let promised = answer.header("docker-content-digest").and_then(|text| text.parse::<Digest>().ok());
        let expected = name.digest().cloned().or(promised);
        let bytes = answer.content(MANIFEST_LIMIT).await?;
        let what = name.to_string();
        let digest = match expected {
            Some(digest) => {
                digest.check(&bytes, &what)?;
                digest
            }
            None => Digest::of(&bytes),
        };
        Manifest::read(bytes, digest, &media_type, &what).map(Some)
    }

    /// The digest of a manifest; `None` if it does not exist.
    pub(crate) async fn manifest_digest(&self, name: &ImageName) -> Result<Option<Digest>> {
        let uri = self.address(&name.repository, &format!("manifests/{}", name.reference())).await?;
        let call = Call::new(Method::HEAD, uri, Scope::Pull(name.repository.clone()));
        let answer = self.call(&call.header(ACCEPT, manifest::ACCEPT)).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(answer.error().await),
        }
        match answer.header("docker-content-digest").and_then(|text| text.parse().ok()) {
            Some(digest) => Ok(Some(digest)),
            // Some registries send no `Docker-Content-Digest` in response to HEAD, so the manifest is fetched.
            None => Ok(self.manifest(name).await?.map(|manifest| manifest.digest)),
        }
    }

    /// Writes a manifest. Returns whether the registry maintains referrers itself (`OCI-Subject`).
    pub(crate) async fn put_manifest(
        &self,
        repository: &Repository,
        reference: &str,
        manifest: &Manifest,
    ) -> Result<bool> {
        let uri = self.address(repository, &format!("manifests/{reference}")).await?;
        let mut call = Call::new(Method::PUT, uri, Scope::Push(repository.clone()))
            .header(CONTENT_TYPE, &manifest.media_type);
        call.body = manifest.bytes.clone();
        let answer = self.call(&call).await?;
        if !answer.status.is_success() {
            return Err(answer.error().await);
        }
        Ok(answer.header("oci-subject").is_some())
    }

    /// Whether a blob exists.
    pub(crate) async fn has_blob(&self, repository: &Repository, digest: &Digest) -> Result<bool> {
        let uri = self.address(repository, &format!("blobs/{digest}")).await?;
        let answer = self.call(&Call::new(Method::HEAD, uri, Scope::Pull(repository.clone()))).await?;
        match answer.status {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(answer.error().await),
        }
    }

    /// Opens a blob for reading, at `offset` if the registry supports `Range`.
    pub(crate) async fn open_blob(
        &self,
        repository: &Repository,
        digest: &Digest,
        offset: u64,
    ) -> Result<Answer> {
        let uri = self.address(repository, &format!("blobs/{digest}")).await?;
        let mut call = Call::new(Method::GET, uri, Scope::Pull(repository.clone()));
        if offset > 0 {
            call = call.header(RANGE, &format!("bytes={offset}-"));
        }
        let answer = self.call(&call).await?;
        match answer.status {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(answer),
            StatusCode::NOT_FOUND => Err(Error::Missing { name: repository.at(digest.clone()).to_string() }),
            _ => Err(answer.error().await),
        }
    }

    /// Starts an upload. Returns the upload URL.
    pub(crate) async fn begin_upload(&self, repository: &Repository) -> Result<Uri> {
        let uri = self.address(repository, "blobs/uploads/").await?;
        let answer =
            self.call(&Call::new(Method::POST, uri.clone(), Scope::Push(repository.clone()))).await?;
        match answer.status {
            StatusCode::ACCEPTED => location(&answer, &uri),
            _ => Err(answer.error().await),
        }
    }

    /// Tries to mount a blob from another repository of the same registry.
    pub(crate) async fn mount(&self, to: &Repository, from: &Repository, digest: &Digest) -> Result<Mounted> {
        let rest =
            format!("blobs/uploads/?mount={}&from={}", encode(&digest.to_string()), encode(from.path()));
        let uri = self.address(to, &rest).await?;
        let call = Call::new(Method::POST, uri.clone(), Scope::Mount(to.clone(), from.clone()));
        match self.call(&call).await {
            Ok(answer) if answer.status == StatusCode::CREATED => Ok(Mounted::Done),
            Ok(answer) if answer.status == StatusCode::ACCEPTED => {
                Ok(Mounted::Upload(location(&answer, &uri)?))
            }
            // Mounting is an optimisation: if the registry refuses it or does not support it, the blob is uploaded.
            _ => Ok(Mounted::Upload(self.begin_upload(to).await?)),
        }
    }

    /// The referrers of a manifest: signatures, attestations, SBOMs.
    pub(crate) async fn referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>> {
        let mut pages = Pages::new(self.address(repository, &format!("referrers/{digest}")).await?);
        let mut found = Vec::new();
        while let Some(uri) = pages.current() {
            let call = Call::new(Method::GET, uri, Scope::Pull(repository.clone()));
            let answer = self.call(&call.header(ACCEPT, INDEX)).await?;
            let is_list = answer.header("content-type").is_some_and(|kind| kind.starts_with(INDEX));
            if answer.status != StatusCode::OK || !is_list {
                // Later pages of a list that has begun must be there: a part of it must not look like all of it.
                return match pages.read.is_empty() {
                    true => self.referrers_by_tag(repository, digest).await,
                    false => Err(answer.error().await),
                };
            }
            let next = answer.header("link").map(next_page).transpose()?;
            let text = answer.content(MANIFEST_LIMIT).await?;
            let what = repository.at(digest.clone()).to_string();
            found.extend(referrers_of(&text).map_err(|reason| Error::Manifest {
                what: format!("the list of referrers of {what}"),
                reason,
            })?);
            if found.len() > MAX_REFERRERS {
                let reason = format!("it has more than {MAX_REFERRERS} referrers");
                return Err(Error::Size { what, reason });
            }
            pages.advance(next.as_deref(), &what)?;
        }
        Ok(found)
    }

    /// The fallback for registries without the referrers API: an index under the tag `sha256-…`.
    async fn referrers_by_tag(&self, repository: &Repository, digest: &Digest) -> Result<Vec<Descriptor>> {
        let Some(list) = self.manifest(&repository.tagged(&digest.tag())?).await? else {
            return Ok(Vec::new());
        };
        match list.parts {
            manifest::Parts::Index(entries) => Ok(entries),
            manifest::Parts::Content { .. } => Ok(Vec::new()),
        }
    }

    /// Adds to the fallback referrers tag of `subject`.
    pub(crate) async fn add_referrer(
        &self,
        repository: &Repository,
        subject: &Digest,
        referrer: &Manifest,
    ) -> Result<()> {
        let name = repository.tagged(&subject.tag())?;
        let mut entries = self.referrers_by_tag(repository, subject).await?;
        if entries.iter().any(|entry| entry.digest == referrer.digest) {
            return Ok(());
        }
        entries.extend(Descriptor::read(&referrer.referrer()));
        let list = manifest_list(&entries)?;
        self.put_manifest(repository, name.tag().unwrap_or_default(), &list).await.map(|_| ())
    }
}

/// The entries of a page of referrers. None may be left out without a word: they are signatures.
fn referrers_of(page: &[u8]) -> std::result::Result<Vec<Descriptor>, String> {
    let tree = pintle_tree::json::read_exact(page).map_err(|error| error.to_string())?;
    match tree.get("manifests") {
        None | Some(Node::Nil) => Ok(Vec::new()),
        Some(list) => list
            .as_list()
            .and_then(|list| list.iter().map(Descriptor::read).collect::<Option<Vec<Descriptor>>>())
            .ok_or_else(|| "`manifests` is no list of descriptors".to_owned()),
    }
}

/// Builds an index of referrers.
fn manifest_list(entries: &[Descriptor]) -> Result<Manifest> {
    let mut tree = pintle_tree::Map::new();
    tree.insert("schemaVersion".into(), Node::Int(2));
    tree.insert("mediaType".into(), INDEX.into());
    tree.insert(
        "manifests".into(),
        entries.iter().map(|entry| entry.raw.clone()).collect::<Vec<Node>>().into(),
    );
    let bytes = pintle_tree::json::write_raw(&Node::from(tree)).map_err(|error| Error::Manifest {
        what: "a list of signatures".into(),
        reason: error.to_string(),
    })?;
    let bytes = Bytes::from(bytes);
    let digest = Digest::of(&bytes);
    Manifest::read(bytes, digest, INDEX, "a list of signatures")
}

/// The address of the next page in a `Link` header. As oras, this does not insist on `rel="next"`: to leave out a page that is
/// named would make a part of the list look like all of it.
///
/// # Errors
/// A header that is no link.
pub(crate) fn next_page(header: &str) -> Result<String> {
    let refused = |reason: &str| Error::NextPage { next: header.to_owned(), reason: reason.to_owned() };
    let links = header.trim().strip_prefix('<').ok_or_else(|| refused("missing '<'"))?;
    // A comma may be part of an address, but `, <` is not.
    let is_next = |link: &&str| link.replace('"', "").contains("rel=next");
    let link = links.split(", <").find(is_next).unwrap_or(links);
    let (address, _) = link.split_once('>').ok_or_else(|| refused("missing '>'"))?;
    Ok(address.to_owned())
}

/// The pages of a list, each of which names the next one. A registry must not lead in circles, or on for ever.
pub(crate) struct Pages {
    current: Option<Uri>,
    read: BTreeSet<String>,
}

impl Pages {
    pub(crate) fn new(first: Uri) -> Pages {
        Pages { current: Some(first), read: BTreeSet::new() }
    }

    /// The page to read now; `None` after the last one.
    pub(crate) fn current(&self) -> Option<Uri> {
        self.current.clone()
    }

    /// Goes on to the page that the current one names.
    ///
    /// # Errors
    /// When it cannot be read: a part of the list must not look like all of it.
    pub(crate) fn advance(&mut self, next: Option<&str>, what: &str) -> Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        self.read.insert(current.to_string());
        let Some(next) = next else { return Ok(()) };
        let next = joined(&current, next)?;
        if self.read.contains(&next.to_string()) {
            let reason = "a page of the list leads back to one that was read before".to_owned();
            return Err(Error::Manifest { what: what.to_owned(), reason });
        }
        if self.read.len() >= MAX_PAGES {
            return Err(too_many_pages(what));
        }
        self.current = Some(next);
        Ok(())
    }
}

/// The address of the next page of a list.
///
/// # Errors
/// Addresses of another origin, which are not followed: a registry must not lead requests elsewhere. To stop there instead
/// would make a part of the list look like all of it.
fn joined(from: &Uri, next: &str) -> Result<Uri> {
    let refused = |reason: String| Error::NextPage { next: next.to_owned(), reason };
    let other = || refused(format!("not the same origin as {}", quote(from.to_string().as_bytes())));
    let (Some(scheme), Some(authority)) = (from.scheme_str(), from.authority()) else { return Err(other()) };
    let folder = from.path().rfind('/').map_or("/", |end| &from.path()[..=end]);
    let address = match next {
        "" => from.to_string(),
        _ if next.starts_with("//") => format!("{scheme}:{next}"),
        _ if next.starts_with('/') => format!("{scheme}://{authority}{next}"),
        _ if next.starts_with('?') => format!("{scheme}://{authority}{}{next}", from.path()),
        _ if next.contains("://") => next.to_owned(),
        _ => format!("{scheme}://{authority}{folder}{next}"),
    };
    let to: Uri = address.parse().map_err(|error: http::uri::InvalidUri| refused(error.to_string()))?;
    if origin(&to) == origin(from) { Ok(to) } else { Err(other()) }
}

/// Scheme, host and port of an address.
fn origin(uri: &Uri) -> (String, String, u16) {
    let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
    let port = uri.port_u16().unwrap_or(if scheme == "http" { 80 } else { 443 });
    (scheme, uri.host().unwrap_or_default().to_ascii_lowercase(), port)
}

/// The error for a list that goes on longer than it is read. A part of it must not look like all of it.
fn too_many_pages(what: &str) -> Error {
    Error::Size { what: what.to_owned(), reason: format!("the list has more than {MAX_PAGES} pages") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(header: &str) -> std::result::Result<String, String> {
        let from: Uri = "http://r.io:5000/v2/a/tags/list?n=2".parse().expect("an address");
        let next = next_page(header).and_then(|next| joined(&from, &next));
        next.map(|uri| uri.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn referrers_that_cannot_be_read_are_not_left_out() {
        let read = |page: &str| referrers_of(page.as_bytes());
        assert_eq!(read("{}").unwrap().len() + read(r#"{"manifests":null}"#).unwrap().len(), 0);
        let good = format!(r#"{{"digest":"sha256:{}","size":1}}"#, "a".repeat(64));
        assert_eq!(read(&format!(r#"{{"manifests":[{good}]}}"#)).unwrap().len(), 1);
        for bad in [r#"{"manifests":[{}]}"#, r#"{"manifests":{}}"#, r#"{"manifests":["#, "<html>"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read(&format!(r#"{{"manifests":[{good},{{"digest":"x"}}]}}"#)).is_err());
    }

    #[test]
    fn the_next_page_is_followed_on_the_same_origin_only() {
        let page = |path: &str| Ok(format!("http://r.io:5000/v2/a/tags/{path}"));
        assert_eq!(next("</v2/a/tags/list?last=1>; rel=\"next\""), page("list?last=1"));
        assert_eq!(next("</v2/a/tags/list?last=1>"), page("list?last=1"));
        assert_eq!(next("<list?last=1>; rel=next"), page("list?last=1"));
        assert_eq!(next("<?last=1>; rel=next"), page("list?last=1"));
        // The page itself, which is then not read a second time.
        assert_eq!(next("<>; rel=next"), page("list?n=2"));
        assert_eq!(next("<HTTP://R.io:5000/v2/a/tags/x>").map(|uri| uri.to_lowercase()), page("x"));
        assert_eq!(next("</v2/a/tags/0>; rel=\"prev\", </v2/a/tags/2>; rel=\"next\""), page("2"));
        for other in ["http://other.io:5000/x", "https://r.io:5000/x", "http://r.io/x", "//other.io/x"] {
            assert_eq!(
                next(&format!("<{other}>; rel=\"next\"")),
                Err(format!(
                    "invalid next link \"{other}\": not the same origin as \"http://r.io:5000/v2/a/tags/list?n=2\""
                ))
            );
        }
        assert_eq!(next("junk"), Err("invalid next link \"junk\": missing '<'".to_owned()));
        assert_eq!(next("<junk"), Err("invalid next link \"<junk\": missing '>'".to_owned()));
    }
}
