//! Logging in and out: checking a login with the registry, and storing it.
//!
//! Files are in Docker's format and written as Helm writes them. If a file names a credential helper, the helper stores the
//! login instead.

use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use pintle_tree::json::{Layout, Writer};
use pintle_tree::{Map, Node, Walk as _};

use crate::auth::challenge::Challenge;
use crate::auth::keychain::{read_bounded, run_helper};
use crate::auth::token::{Token, encode};
use crate::client::{AGENT, Client, TOKEN_LIMIT};
use crate::error::{Error, Result};
use crate::transport::{Answer, full, shown};

impl Client {
    /// Checks whether a registry accepts a login. One without authentication accepts any.
    ///
    /// # Errors
    ///
    /// When it does not, or does not answer.
    pub async fn check_login(&self, registry: &str, user: &str, password: &str) -> Result<()> {
        let answer = self.ping(registry, None).await?;
        let status = answer.status;
        let (header, url) = match (status, Challenge::from_headers(&answer.headers)) {
            (StatusCode::OK, _) => return Ok(()),
            (StatusCode::UNAUTHORIZED, Some(Challenge::Basic)) if user.is_empty() || password.is_empty() => {
                let url = shown(&answer.uri);
                let text = format!("GET \"{url}\": missing username or password for basic auth");
                return Err(Error::Transfer { text, source: Box::new(answer.error().await) });
            }
            (StatusCode::UNAUTHORIZED, Some(Challenge::Basic)) => {
                (Token::basic(user, password).map(|token| token.header), shown(&answer.uri))
            }
            (StatusCode::UNAUTHORIZED, Some(Challenge::Bearer { realm, service })) => {
                let is_safe = answer.uri.scheme_str() == Some("http") || realm.starts_with("https://");
                if !is_safe {
                    let reason = "the server for tokens does without TLS, so it gets no login".into();
                    return Err(Error::Network { url: realm, reason });
                }
                (Some(self.token_for(&realm, &service, user, password).await?), shown(&answer.uri))
            }
            _ => return Err(answer.error().await.into_go_error("Get")),
        };
        let header =
            header.ok_or_else(|| Error::Network { url, reason: "the login has odd characters".into() })?;
        let answer = self.ping(registry, Some(header)).await?;
        if answer.status == StatusCode::OK { Ok(()) } else { Err(answer.error().await.into_go_error("Get")) }
    }

    async fn ping(&self, registry: &str, header: Option<HeaderValue>) -> Result<Answer> {
        let uri = format!("{}/v2/", self.base(registry).await);
        let mut builder = Request::builder().uri(&uri).header(USER_AGENT, AGENT);
        if let Some(header) = header {
            builder = builder.header(AUTHORIZATION, header);
        }
        let request = builder.body(full(Bytes::new()));
        let request = request.map_err(|error| Error::Network { url: uri, reason: error.to_string() })?;
        self.transport().send(request).await.map_err(|error| error.into_go_error("Get"))
    }

    async fn token_for(&self, realm: &str, service: &str, user: &str, password: &str) -> Result<HeaderValue> {
        let bad = |reason: &str| Error::Network { url: realm.to_owned(), reason: reason.to_owned() };
        let sign = if realm.contains('?') { '&' } else { '?' };
        let uri = if service.is_empty() {
            realm.to_owned()
        } else {
            format!("{realm}{sign}service={}", encode(service))
        };
        let basic = Token::basic(user, password).ok_or_else(|| bad("the login has odd characters"))?;
        let request =
            Request::builder().uri(uri).header(USER_AGENT, AGENT).header(AUTHORIZATION, basic.header);
        let request = request.body(full(Bytes::new())).map_err(|error| bad(&error.to_string()))?;
        let answer = self.transport().send(request).await.map_err(|error| error.into_go_error("Get"))?;
        if answer.status != StatusCode::OK {
            return Err(answer.error().await.into_go_error("Get"));
        }
        let text = answer.content(TOKEN_LIMIT).await?;
        Ok(Token::read(&text).ok_or_else(|| bad("there is no token in the answer"))?.header)
    }
}

/// The key under which a login is stored. Docker Hub has a legacy one.
pub fn login_key(host: &str) -> &str {
    match host {
        "docker.io" | "registry-1.docker.io" => "https://index.docker.io/v1/",
        host => host,
    }
}

/// A file of logins.
struct LoginFile {
    tree: Map<Node>,
}

impl LoginFile {
    fn read(path: &Path) -> Result<LoginFile> {
        let text = match read_bounded(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::File { action: "read", path: path.to_owned(), source }),
        };
        if text.trim_ascii().is_empty() {
            return Ok(LoginFile { tree: Map::new() });
        }
        let bad = |reason: String| Error::Settings { what: path.display().to_string(), reason };
        let tree =
            pintle_tree::json::read_exact(&text).map_err(|error| bad(format!("it is no JSON: {error}")))?;
        match tree {
            Node::Map(tree) => Ok(LoginFile { tree }),
            _ => Err(bad("it is no object".into())),
        }
    }

    /// The credential helper of a registry.
    fn helper(&self, key: &str) -> Option<String> {
        let of_host = self.tree.get("credHelpers").and_then(|helpers| helpers.get(key)?.as_str());
        let of_all = || self.tree.get("credsStore").and_then(Node::as_str);
        of_host.or_else(of_all).filter(|name| !name.is_empty()).map(ToOwned::to_owned)
    }

    fn logins(&mut self) -> Map<Node> {
        match self.tree.remove("auths") {
            Some(Node::Map(logins)) => logins,
            _ => Map::new(),
        }
    }

    /// Writes the file atomically, readable by its owner only.
    fn write(&self, path: &Path) -> Result<()> {
        let failed = |source| Error::File { action: "write", path: path.to_owned(), source };
        let mut writer = Writer::new(Layout::Indented { prefix: "", step: "\t" }, true);
        let walked = Node::Map(self.tree.clone()).walk(&mut writer);
        walked.map_err(|error| Error::Settings {
            what: path.display().to_string(),
            reason: error.to_string(),
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        make_folder(folder).map_err(failed)?;
        // A new file is renamed into place: readers never see half a file, and an existing one may have wider permissions.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(&writer.into_bytes()).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Stores a login under `key` (see [`login_key`]) in the file, or with the credential helper that the file names.
/// `default_helper` is the platform's helper, for files without any credential settings yet.
///
/// # Errors
///
/// When the file cannot be read or written, or when the program fails.
pub async fn keep_login(
    path: &Path,
    key: &str,
    user: &str,
    password: &str,
    default_helper: Option<&str>,
) -> Result<()> {
    let mut file = LoginFile::read(path)?;
    let is_new = ["auths", "credsStore", "credHelpers"]
        .iter()
        .all(|field| file.tree.get(*field).is_none_or(|node| node.as_map().is_some_and(Map::is_empty)));
    let found = default_helper.filter(|_| is_new);
    if let Some(helper) = file.helper(key).or_else(|| found.map(ToOwned::to_owned)) {
        let mut entry = Map::new();
        for (name, value) in [("ServerURL", key), ("Username", user), ("Secret", password)] {
            entry.insert(name.into(), value.into());
        }
        let text = pintle_tree::json::write_raw(&Node::Map(entry)).unwrap_or_default();
        run_helper(&helper, "store", &text).await?;
        if let Some(found) = found {
            let logins = file.logins();
            file.tree.insert("auths".into(), Node::Map(logins));
            file.tree.insert("credsStore".into(), found.into());
            file.write(path)?;
        }
        return Ok(());
    }
    let mut entry = Map::new();
    if !user.is_empty() || !password.is_empty() {
        entry.insert("auth".into(), STANDARD.encode(format!("{user}:{password}")).into());
    }
    let mut logins = file.logins();
    logins.insert(key.into(), Node::Map(entry));
    file.tree.insert("auths".into(), Node::Map(logins));
    file.write(path)
}

/// Removes a login. A missing login is not an error.
///
/// # Errors
///
/// When the file cannot be read or written, or when the program fails.
pub async fn forget_login(path: &Path, key: &str) -> Result<()> {
    let mut file = LoginFile::read(path)?;
    if let Some(helper) = file.helper(key) {
        return run_helper(&helper, "erase", key.as_bytes()).await.map(|_| ());
    }
    let mut logins = file.logins();
    if logins.remove(key).is_none() {
        return Ok(());
    }
    file.tree.insert("auths".into(), Node::Map(logins));
    file.write(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn logins_are_kept_and_forgotten_as_helm_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry/config.json");
        keep_login(&path, "r.io", "a", "b", None).await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\n\t\"auths\": {\n\t\t\"r.io\": {\n\t\t\t\"auth\": \"YTpi\"\n\t\t}\n\t}\n}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        keep_login(&path, "r.io/team", "c", "d", None).await.unwrap();
        forget_login(&path, "r.io").await.unwrap();
        forget_login(&path, "never").await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\n\t\"auths\": {\n\t\t\"r.io/team\": {\n\t\t\t\"auth\": \"Yzpk\"\n\t\t}\n\t}\n}");
        forget_login(&path, "r.io/team").await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n\t\"auths\": {}\n}");
    }

    #[tokio::test]
    async fn what_else_a_file_says_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, r#"{"HttpHeaders":{"A":"<b>"},"auths":{"x":{"auth":"YTpi","email":"e"}}}"#)
            .unwrap();
        keep_login(&path, "y", "", "t", None).await.unwrap();
        let tree = pintle_tree::json::read(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(tree.get("HttpHeaders").and_then(|node| node.get("A")?.as_str()), Some("<b>"));
        let entry = tree.get("auths").and_then(|node| node.get("x")).unwrap();
        assert_eq!(entry.get("email").and_then(Node::as_str), Some("e"));
        assert!(keep_login(folder.path(), "y", "a", "b", None).await.is_err());
        std::fs::write(&path, "[").unwrap();
        assert!(keep_login(&path, "y", "a", "b", None).await.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"[");
    }
}
