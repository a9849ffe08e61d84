//! Uploads to repositories that have the API of ChartMuseum: `POST <context path>/api/<repository>/charts`, with the
//! archive as the body or, together with its provenance file, as a form.

use std::path::Path;

use http::StatusCode;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use pintle_registry::{Answer, BodyPart};
use pintle_tree::Node;
use pintle_tree::quote::quote;
use pintle_tree::redact::redacted;
use sha2::{Digest as _, Sha256};

use crate::address::{Address, resolve_reference, unescape};
use crate::content::hex;
use crate::error::{Error, Result, refused};
use crate::get::{Access, Getter, Request, basic, uri};
use crate::index::MAX_INDEX;

/// How much of an answer is read.
const ANSWER_LIMIT: usize = 64 << 10;

/// A token that is sent instead of user and password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AccessToken {
    /// The token.
    pub token: String,
    /// The header that carries the bare token; empty for `Authorization: Bearer`.
    pub header: String,
}

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Tokens must not appear in debug output.
        f.debug_struct("AccessToken").field("header", &self.header).finish_non_exhaustive()
    }
}

/// How the archive is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadBody {
    /// The archive alone is the body.
    Raw,
    /// A form with the archive, and its provenance file if there is one.
    Form {
        /// The provenance file.
        provenance: Option<Vec<u8>>,
    },
}

/// A chart that is to be uploaded.
#[derive(Clone, Debug)]
pub struct Upload<'u> {
    /// The URL of the repository, as `repo add` takes it.
    pub repository: &'u str,
    /// How to reach the server.
    pub access: Access,
    /// A token, which is used if there is no user with a password.
    pub token: AccessToken,
    /// Where the API begins below the host; asked for if it is not given.
    pub context_path: Option<&'u str>,
    /// The archive.
    pub archive: &'u Path,
    /// The name of the archive, for forms.
    pub file_name: &'u str,
    /// How it is sent.
    pub body: UploadBody,
    /// Whether a version that is there already is replaced.
    pub force: bool,
}

/// What the server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadAnswer {
    /// The chart was taken.
    Saved,
    /// The chart was refused.
    Refused {
        /// The status code.
        status: u16,
        /// The reason, if the server gave one in the way of ChartMuseum.
        reason: Option<String>,
        /// What it said.
        body: String,
    },
}

impl Getter {
    /// Uploads a chart.
    ///
    /// # Errors
    /// When the server cannot be reached or is no repository, or the archive cannot be read. If the server rejects the chart,
    /// that is `UploadAnswer::Refused`.
    pub fn upload(&self, upload: &Upload<'_>) -> Result<UploadAnswer> {
        let context_path = match upload.context_path {
            Some(path) => path.to_owned(),
            None => self.context_path(upload)?,
        };
        let address = upload_address(upload.repository, &context_path, upload.force).map_err(Error::Input)?;
        let (headers, body) = self.request(upload, &address)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Fetch(format!("cannot start: {error}")))?;
        let outcome = runtime.block_on(async {
            let exchange = self.send(upload, &address, headers, body);
            if self.timeout.is_zero() {
                return exchange.await;
            }
            tokio::time::timeout(self.timeout, exchange).await.unwrap_or_else(|_| {
                let url = quote(redacted(&address.to_string()).as_bytes());
                Err(Error::Fetch(format!("Post {url}: context deadline exceeded")))
            })
        });
        // A DNS lookup in progress cannot be cancelled, so do not wait for it.
        runtime.shutdown_background();
        outcome
    }

    async fn send(
        &self,
        upload: &Upload<'_>,
        address: &Address,
        headers: HeaderMap,
        body: Vec<BodyPart>,
    ) -> Result<UploadAnswer> {
        let failed = |reason: String| {
            let url = quote(redacted(&address.to_string()).as_bytes());
            Error::Fetch(format!("Post {url}: {reason}"))
        };
        let transport = self.transport(&upload.access, address.scheme == "https")?;
        let uri = uri(address).map_err(failed)?;
        let mut answer = transport.post(&uri, headers, body).await.map_err(failed)?;
        if matches!(answer.status, StatusCode::CREATED | StatusCode::ACCEPTED) {
            return Ok(UploadAnswer::Saved);
        }
        if answer.status.is_redirection() {
            // Redirects are not followed: chart and credentials are not sent to another server.
            let to = redacted(answer.header("location").unwrap_or_default()).into_owned();
            let status = answer.status_line();
            return Err(failed(format!(
                "{status}: the server redirects to {}; push there",
                quote(to.as_bytes())
            )));
        }
        let body = text(&mut answer).await;
        let reason = pintle_tree::json::read(body.as_bytes()).ok();
        let reason = reason.as_ref().and_then(|tree| tree.get("error")).and_then(Node::as_str);
        let reason = reason.filter(|reason| !reason.is_empty()).map(str::to_owned);
        Ok(UploadAnswer::Refused { status: answer.status.as_u16(), reason, body })
    }

    /// The context path of the API, from the index of the repository.
    fn context_path(&self, upload: &Upload<'_>) -> Result<String> {
        let url = resolve_reference(upload.repository, "index.yaml").map_err(Error::Input)?;
        let mut access = upload.access.clone();
        // The token is used as for the upload itself: unless there are a username and a password.
        let has_password = !access.username.is_empty() && !access.password.is_empty();
        if !has_password && !upload.token.token.is_empty() {
            (access.username, access.password) = Default::default();
            access.token = Some(upload.token.clone());
        }
        let request = Request {
            url: &url,
            home: upload.repository,
            access,
            compressed: true,
            limit: MAX_INDEX,
            ..Request::default()
        };
        let (_, text) = self.get_bytes(&request)?;
        Ok(context_path(&text))
    }

    fn request(&self, upload: &Upload<'_>, address: &Address) -> Result<(HeaderMap, Vec<BodyPart>)> {
        let size = std::fs::metadata(upload.archive).map_err(refused("stat", upload.archive))?.len();
        let archive = BodyPart::File(upload.archive.to_owned());
        let (content_type, length, body) = match &upload.body {
            UploadBody::Raw => ("application/gzip".to_owned(), size, vec![archive]),
            UploadBody::Form { provenance } => {
                let (content_type, overhead, body) = form(upload.file_name, archive, provenance.as_deref());
                (content_type, size + overhead, body)
            }
        };
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            let value = HeaderValue::from_str(value)
                .map_err(|_| Error::Input(format!("net/http: invalid header field value for {name:?}")))?;
            headers.insert(name, value);
            Ok::<(), Error>(())
        };
        put(USER_AGENT, &self.agent)?;
        put(CONTENT_TYPE, &content_type)?;
        put(CONTENT_LENGTH, &length.to_string())?;
        let Access { username, password, .. } = &upload.access;
        if !username.is_empty() && !password.is_empty() {
            put(AUTHORIZATION, &basic(username, password))?;
        } else if !upload.token.token.is_empty() {
            let (name, value) = upload.token.to_header()?;
            put(name, &value)?;
        } else if let Some(userinfo) = &address.userinfo {
            let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
            put(AUTHORIZATION, &basic(&unescape(user), &unescape(password)))?;
        }
        Ok((headers, body))
    }
}

impl AccessToken {
    /// The header that carries the token.
    pub(crate) fn to_header(&self) -> Result<(HeaderName, String)> {
        if self.header.is_empty() {
            return Ok((AUTHORIZATION, format!("Bearer {}", self.token)));
        }
        let name = HeaderName::from_bytes(self.header.as_bytes());
        let name = name.map_err(|_| {
            let shown = quote(self.header.as_bytes());
            Error::Input(format!("net/http: invalid header field name {shown}"))
        })?;
        Ok((name, self.token.clone()))
    }
}

/// The body of a form, its media type, and its length without the archive.
fn form(file_name: &str, archive: BodyPart, provenance: Option<&[u8]>) -> (String, u64, Vec<BodyPart>) {
    // The boundary must not occur in the archive; 64 hexadecimal digits in compressed data are practically impossible.
    let boundary = hex(&Sha256::digest(format!("{file_name} {}", std::process::id())));
    let head = |field: &str, name: &str| {
        let name = name.replace(['"', '\r', '\n'], "_");
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        )
    };
    let front = head("chart", file_name);
    let mut back = b"\r\n".to_vec();
    if let Some(provenance) = provenance {
        back.extend_from_slice(head("prov", &format!("{file_name}.prov")).as_bytes());
        back.extend_from_slice(provenance);
        back.extend_from_slice(b"\r\n");
    }
    back.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let overhead = (front.len() + back.len()) as u64;
    let parts = vec![BodyPart::Bytes(front.into()), archive, BodyPart::Bytes(back.into())];
    (format!("multipart/form-data; boundary={boundary}"), overhead, parts)
}

async fn text(answer: &mut Answer) -> String {
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        text.extend_from_slice(&chunk);
        if text.len() > ANSWER_LIMIT {
            text.truncate(ANSWER_LIMIT);
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Where charts of a repository are uploaded to. A server for several tenants has them below its context path, with the
/// path of the repository behind `api`.
fn upload_address(repository: &str, context_path: &str, force: bool) -> std::result::Result<Address, String> {
    let mut address = Address::parse(repository)?;
    let tenant = address.path.strip_prefix(context_path).unwrap_or(&address.path).to_owned();
    let parts = [context_path, "api", &tenant, "charts"];
    let parts = parts.iter().flat_map(|part| part.split('/')).filter(|part| !part.is_empty());
    address.path = parts.fold(String::new(), |path, part| format!("{path}/{part}"));
    (address.query, address.fragment) = (force.then(|| "force".to_owned()), None);
    Ok(address)
}

/// `serverInfo.contextPath` of an index. Only the lines about it are read, since the rest may be large.
fn context_path(index: &[u8]) -> String {
    let of = |tree: &Node| {
        let path = tree.get("serverInfo").and_then(|info| info.get("contextPath")).and_then(Node::as_str);
        path.unwrap_or_default().to_owned()
    };
    if index.first() == Some(&b'{')
        && let Ok(tree) = pintle_tree::json::read(index)
    {
        return of(&tree);
    }
    let lines = index.split_inclusive(|byte| *byte == b'\n');
    let mut lines = lines.skip_while(|line| !line.starts_with(b"serverInfo:"));
    let mut text = lines.next().unwrap_or_default().to_vec();
    for line in lines.take_while(|line| line.starts_with(b" ")) {
        text.extend_from_slice(line);
    }
    pintle_yaml::read(&text).map_or_else(|_| String::new(), |tree| of(&tree))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_go_below_the_context_path_to_the_tenant() {
        let url = |repository: &str, context: &str| {
            upload_address(repository, context, false).expect("a URL").to_string()
        };
        assert_eq!(url("http://h:8080", ""), "http://h:8080/api/charts");
        assert_eq!(url("http://h/", ""), "http://h/api/charts");
        assert_eq!(url("http://h/org/team", ""), "http://h/api/org/team/charts");
        assert_eq!(url("http://h/museum", "/museum"), "http://h/museum/api/charts");
        assert_eq!(url("http://h/museum/org?x=1#y", "/museum/"), "http://h/museum/api/org/charts");
        let forced = upload_address("http://h", "", true).expect("a URL");
        assert_eq!(forced.to_string(), "http://h/api/charts?force");
    }

    #[test]
    fn the_context_path_is_found_in_indexes_of_both_kinds() {
        let yaml =
            b"apiVersion: v1\nentries:\n  serverInfo: []\nserverInfo:\n  contextPath: /a\ngenerated: x\n";
        assert_eq!(context_path(yaml), "/a");
        assert_eq!(context_path(b"entries: {}\nserverInfo: {contextPath: /b}\n"), "/b");
        assert_eq!(context_path(br#"{"serverInfo":{"contextPath":"/c"}}"#), "/c");
        for none in [&b""[..], b"entries: {}\nserverInfo: {}\n", b"serverInfo: [", b"{"] {
            assert_eq!(context_path(none), "");
        }
    }

    #[test]
    fn forms_have_the_length_that_they_declare() {
        let archive = BodyPart::Bytes(b"archive".to_vec().into());
        let (content_type, overhead, parts) = form("web-1.0.0.tgz", archive, Some(b"signed"));
        let body: Vec<u8> = parts
            .into_iter()
            .flat_map(|part| match part {
                BodyPart::Bytes(bytes) => bytes.to_vec(),
                BodyPart::File(_) => Vec::new(),
            })
            .collect();
        assert_eq!(body.len() as u64, overhead + 7);
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").expect("a form");
        let text = String::from_utf8(body).expect("it is text");
        assert_eq!(text.matches(boundary).count(), 3);
        assert!(
            text.contains("name=\"chart\"; filename=\"web-1.0.0.tgz\"")
                && text.contains("\r\n\r\narchive\r\n")
        );
        assert!(text.contains("name=\"prov\"; filename=\"web-1.0.0.tgz.prov\"") && text.ends_with("--\r\n"));
    }
}
