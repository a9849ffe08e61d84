//! Logins from files in Docker's `config.json` format, and from the credential helpers that such files name.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::Node;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::error::{Error, Result};
use crate::name::Repository;
use crate::settings::Login;

/// The key of Docker Hub in these files.
const DOCKER: &str = "https://index.docker.io/v1/";

/// The maximum size of a file or of a helper's output.
const LIMIT: usize = 4 << 20;

/// The timeout of a credential helper; generous, because it may have to prompt the user.
const HELPER_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads at most one byte more than `LIMIT`, so that the caller can detect a file that is too large.
pub(crate) fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LIMIT as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The parsed credential files, in order of precedence.
#[derive(Debug, Default)]
pub(crate) struct Keychain {
    files: Vec<(PathBuf, Node)>,
}

impl Keychain {
    /// Reads the files that exist.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Keychain> {
        let mut files = Vec::new();
        for path in paths {
            let text = match read_bounded(path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Error::File { action: "read", path: path.clone(), source }),
            };
            if text.trim_ascii().is_empty() {
                continue;
            }
            let bad = |reason: String| Error::Settings { what: path.display().to_string(), reason };
            if text.len() > LIMIT {
                return Err(bad("it is too large for a file of logins".into()));
            }
            let tree =
                pintle_tree::json::read(&text).map_err(|error| bad(format!("invalid JSON: {error}")))?;
            files.push((path.clone(), tree));
        }
        Ok(Keychain { files })
    }

    /// The login for a repository, from the first file that has one.
    pub(crate) async fn login(&self, repository: &Repository) -> Result<Option<Login>> {
        for (path, file) in &self.files {
            if let Some(login) = login_of(path, file, repository).await? {
                return Ok(Some(login));
            }
        }
        Ok(None)
    }
}

async fn login_of(path: &Path, file: &Node, repository: &Repository) -> Result<Option<Login>> {
    let names = names(repository);
    let helpers = file.get("credHelpers");
    for name in &names {
        if let Some(helper) = helpers.and_then(|helpers| helpers.get(name)?.as_str()) {
            return ask(helper, server(name)).await;
        }
    }
    if let Some(helper) = file.get("credsStore").and_then(Node::as_str).filter(|name| !name.is_empty())
        && let Some(login) = ask(helper, server(host(repository))).await?
    {
        return Ok(Some(login));
    }
    let Some(entries) = file.get("auths").and_then(Node::as_map) else { return Ok(None) };
    for name in &names {
        for (key, entry) in entries.iter() {
            if plain(&key.to_str_lossy()) == *name
                && let Some(login) = written(path, name, entry)?
            {
                return Ok(Some(login));
            }
        }
    }
    Ok(None)
}

/// The keys under which a repository may be listed, longest first: some tools append the path to the host.
fn names(repository: &Repository) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = format!("{}/{}", host(repository), repository.path());
    while let Some(slash) = name.rfind('/') {
        names.push(name.clone());
        name.truncate(slash);
    }
    names.push(name);
    names
}

fn host(repository: &Repository) -> &str {
    match repository.registry() {
        "index.docker.io" | "registry-1.docker.io" | "registry.hub.docker.com" => "docker.io",
        host => host,
    }
}

/// A key without its scheme and the `/v1/`, `/v2/` suffixes that old tools append.
fn plain(key: &str) -> String {
    let key = key.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    let key = key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key);
    match key {
        "index.docker.io" | "registry-1.docker.io" => "docker.io".to_owned(),
        key => key.to_ascii_lowercase(),
    }
}

/// The server name that credential helpers use for a registry.
fn server(name: &str) -> &str {
    if name == "docker.io" { DOCKER } else { name }
}

/// A login stored in the file itself.
fn written(path: &Path, name: &str, entry: &Node) -> Result<Option<Login>> {
    let field = |key: &str| entry.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    if let Some(token) = field("registrytoken") {
        return Ok(Some(Login::Bearer(token.to_owned())));
    }
    if let Some(token) = field("identitytoken") {
        return Ok(Some(Login::Identity(token.to_owned())));
    }
    if let Some(pair) = field("auth") {
        let text = STANDARD.decode(pair.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let login = text.as_deref().map(|text| text.trim_end_matches('\0')).and_then(|text| {
            // A token that was given without a user.
            let (user, password) = text.split_once(':')?;
            Some(Login::Password { user: user.to_owned(), password: password.to_owned() })
        });
        return login.map(Some).ok_or_else(|| Error::Settings {
            what: path.display().to_string(),
            reason: format!("`auth` of `{name}` is not user:password in Base64"),
        });
    }
    Ok(field("username").map(|user| Login::Password {
        user: user.to_owned(),
        password: field("password").unwrap_or_default().to_owned(),
    }))
}

/// Runs a credential helper, as Docker does. `None` if it has no such login.
pub(crate) async fn run_helper(helper: &str, verb: &str, input: &[u8]) -> Result<Option<Vec<u8>>> {
    let program = format!("docker-credential-{helper}");
    let fail = |reason: String| Error::Helper { program: program.clone(), reason };
    if !helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
        return Err(fail("this is not a program name".into()));
    }
    let outcome = tokio::time::timeout(HELPER_TIMEOUT, run(&program, verb, input)).await;
    let (success, output) = outcome
        .map_err(|_| fail(format!("no answer within {HELPER_TIMEOUT:?}")))?
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoHelper { program: program.clone() },
            _ => fail(error.to_string()),
        })?;
    let text = String::from_utf8_lossy(&output);
    if !success {
        // Docker's helpers report a missing entry by this text and exit code 1.
        if text.contains("credentials not found") {
            return Ok(None);
        }
        return Err(fail(format!("it failed: {}", text.trim().chars().take(300).collect::<String>())));
    }
    Ok(Some(output))
}

/// Gets a login from a credential helper.
async fn ask(helper: &str, server: &str) -> Result<Option<Login>> {
    let Some(output) = run_helper(helper, "get", format!("{server}\n").as_bytes()).await? else {
        return Ok(None);
    };
    let program = format!("docker-credential-{helper}");
    let fail = |reason: String| Error::Helper { program: program.clone(), reason };
    let tree = pintle_tree::json::read(&output).map_err(|_| fail("its output is not JSON".into()))?;
    let field = |key: &str| tree.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    match (field("Username").as_str(), field("Secret")) {
        (_, secret) if secret.is_empty() => Ok(None),
        ("<token>", secret) => Ok(Some(Login::Identity(secret))),
        (user, password) => Ok(Some(Login::Password { user: user.to_owned(), password })),
    }
}

async fn run(program: &str, verb: &str, input: &[u8]) -> std::io::Result<(bool, Vec<u8>)> {
    let mut child = tokio::process::Command::new(program)
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // A helper that does not read its standard input may still answer.
        let _ = pipe.write_all(input).await;
    }
    let mut output = Vec::new();
    if let Some(stream) = child.stdout.take() {
        stream.take(LIMIT as u64).read_to_end(&mut output).await?;
    }
    Ok((child.wait().await?.success(), output))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn found(file: &str, name: &str) -> Option<Login> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, file).unwrap();
        let keychain = Keychain::read(&[folder.path().join("none"), path]).unwrap();
        let (registry, repository) = name.split_once('/').unwrap();
        keychain.login(&Repository::new(registry, repository).unwrap()).await.unwrap()
    }

    fn password(user: &str, password: &str) -> Option<Login> {
        Some(Login::Password { user: user.into(), password: password.into() })
    }

    #[tokio::test]
    async fn dockers_registry_is_found_under_all_its_names() {
        for key in ["https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io"] {
            let file = format!(r#"{{"auths":{{"{key}":{{"auth":"bWU6cHc="}}}}}}"#);
            assert_eq!(found(&file, "docker.io/library/nginx").await, password("me", "pw"), "{key}");
            assert_eq!(found(&file, "quay.io/a").await, None);
        }
    }

    #[tokio::test]
    async fn the_longest_name_wins_and_all_kinds_are_read() {
        let file = r#"{"auths":{"quay.io":{"username":"a","password":"b"},"quay.io/org":{"identitytoken":"t"},
            "http://x:5000/v2/":{"registrytoken":"r"}, "empty":{}}}"#;
        assert_eq!(found(file, "quay.io/other/x").await, password("a", "b"));
        assert_eq!(found(file, "quay.io/org/x").await, Some(Login::Identity("t".into())));
        assert_eq!(found(file, "quay.io/organ/x").await, password("a", "b"));
        assert_eq!(found(file, "x:5000/a").await, Some(Login::Bearer("r".into())));
        assert_eq!(found(file, "empty/a").await, None);
    }

    #[tokio::test]
    async fn programs_with_paths_for_names_are_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, r#"{"credsStore":"../../bin/sh"}"#).unwrap();
        let keychain = Keychain::read(&[path]).unwrap();
        let error = keychain.login(&Repository::new("a.b", "c").unwrap()).await.unwrap_err();
        assert!(error.to_string().ends_with("this is not a program name"), "{error}");
    }

    #[test]
    fn broken_files_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, "{").unwrap();
        let error = Keychain::read(std::slice::from_ref(&path)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot use {}: invalid JSON", path.display())), "{error}");
    }
}
