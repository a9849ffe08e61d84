//! The endpoints of the OCI distribution API, one function each.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RANGE};
use http::{Method, StatusCode, Uri};
use pintle_tree::Node;

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
                let is_first = pages.read.is_empty();
                return if is_first { self.referrers_by_tag(repository, digest).await } else { Ok(found) };
            }
            let next = answer.header("link").and_then(next_page).map(ToOwned::to_owned);
            let text = answer.content(MANIFEST_LIMIT).await?;
            let tree = pintle_tree::json::read_exact(&text).unwrap_or_default();
            let list = tree.get("manifests").and_then(Node::as_list).unwrap_or_default();
            found.extend(list.iter().filter_map(Descriptor::read));
            let what = repository.at(digest.clone()).to_string();
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

/// The address in `<address>; rel="next"`.
pub(crate) fn next_page(link: &str) -> Option<&str> {
    let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
    rest.replace('"', "").contains("rel=next").then_some(address)
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
    pub(crate) fn advance(&mut self, next: Option<&str>, what: &str) -> Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let bad = |reason: String| Error::Manifest { what: what.to_owned(), reason };
        self.read.insert(current.to_string());
        let Some(next) = next.and_then(|next| joined(&current, next)) else { return Ok(()) };
        if self.read.contains(&next.to_string()) {
            return Err(bad("a page of the list leads back to one that was read before".to_owned()));
        }
        if self.read.len() >= MAX_PAGES {
            return Err(bad(format!("the list has more than {MAX_PAGES} pages")));
        }
        self.current = Some(next);
        Ok(())
    }
}

/// An address of the same registry; others are not followed.
fn joined(from: &Uri, next: &str) -> Option<Uri> {
    let path = match next.parse::<Uri>().ok()? {
        uri if uri.authority().is_none() || uri.authority() == from.authority() => {
            uri.path_and_query()?.to_string()
        }
        _ => return None,
    };
    format!("{}://{}{path}", from.scheme_str()?, from.authority()?).parse().ok()
}
