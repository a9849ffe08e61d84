//! Resolves kubeconfig files and flags to one cluster, user and context, with the rules and messages of client-go.

use std::error::Error as StdError;
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::Path;

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig};
use pintle_tree::{Map, Node};

use crate::connect::{DEFAULT_SERVER, Proxies, Settings};
use crate::error::{Error, Result};
use crate::proxy;

/// The cluster, user and context that a connection uses.
pub(crate) struct ResolvedConfig {
    pub(crate) cluster: Cluster,
    pub(crate) user: AuthInfo,
    pub(crate) context: Context,
    /// Whether neither files nor flags configure a server.
    is_unset: bool,
}

impl ResolvedConfig {
    /// Loads the files, selects the context and applies the flags.
    pub(crate) fn resolve(settings: &Settings) -> Result<Self> {
        let files = load(settings)?;
        let current = files.current_context.clone().unwrap_or_default();
        let selected = if settings.context.is_empty() { current } else { settings.context.clone() };
        let named = files.contexts.iter().find(|named| named.name == selected);
        if named.is_none() && !settings.context.is_empty() {
            return Err(Error::Configuration(format!("context {selected:?} does not exist")));
        }
        // A missing context of the flag is an error by itself; a missing `current-context` is collected with the other
        // problems, because client-go validates it with the rest and reports all problems in one message.
        let mut problems = Vec::new();
        if named.is_none() && !selected.is_empty() {
            problems.push(format!("context was not found for specified context: {selected}"));
        }
        let context = named.and_then(|named| named.context.clone()).unwrap_or_default();
        let user_name = context.user.clone().unwrap_or_default();
        let found = files.clusters.iter().find(|named| named.name == context.cluster);
        let found = found.and_then(|named| named.cluster.clone());
        let user = files.auth_infos.iter().find(|named| named.name == user_name);
        let user = user.and_then(|named| named.auth_info.clone()).unwrap_or_default();

        let is_unset = found.is_none() && *settings == without_server_flags(settings);
        let cluster = override_cluster(found.unwrap_or_default(), settings);
        let user = override_user(user, settings);
        check_user(&user, &user_name, &mut problems);
        check_cluster(&cluster, &context.cluster, &mut problems);
        match problems.len() {
            0 => {}
            1 => return Err(Error::Configuration(format!("invalid configuration: {}", problems[0]))),
            _ => {
                let all = problems.join(", ");
                return Err(Error::Configuration(format!("invalid configuration: [{all}]")));
            }
        }
        ResolvedConfig { cluster, user, context, is_unset }.with_address()
    }

    /// Whether only defaults apply, in which case the in-cluster configuration takes precedence.
    pub(crate) fn is_default(&self) -> bool {
        self.is_unset
    }

    /// The proxy to connect through.
    pub(crate) fn proxy(&self, proxies: &Proxies) -> Result<Option<http::Uri>> {
        let server = self.cluster.server.as_deref().unwrap_or_default();
        proxy::choose(self.cluster.proxy_url.as_deref().unwrap_or_default(), server, proxies)
    }

    /// Completes the server's URL. Credentials are dropped for `http` servers, so that they are never sent in clear
    /// text.
    fn with_address(mut self) -> Result<Self> {
        let given = self.cluster.server.take().filter(|server| !server.is_empty());
        let given = given.unwrap_or_else(|| DEFAULT_SERVER.to_owned());
        // client-go chooses the scheme of a bare `host:port` by whether anything about TLS is configured.
        let tls = self.cluster.certificate_authority.is_some()
            || self.cluster.certificate_authority_data.is_some()
            || self.cluster.insecure_skip_tls_verify == Some(true)
            || self.user.client_certificate.is_some()
            || self.user.client_certificate_data.is_some();
        let server = address(&given, tls)?;
        if server.starts_with("http://") {
            // Impersonation stays: client-go sets it before it looks at the transport, and it is no secret.
            self.user = AuthInfo {
                impersonate: self.user.impersonate,
                impersonate_uid: self.user.impersonate_uid,
                impersonate_groups: self.user.impersonate_groups,
                impersonate_user_extra: self.user.impersonate_user_extra,
                ..AuthInfo::default()
            };
        }
        self.cluster.server = Some(server);
        Ok(self)
    }
}

/// The settings without the flags about the server, to tell whether one was given.
fn without_server_flags(settings: &Settings) -> Settings {
    Settings {
        server: String::new(),
        ca_file: String::new(),
        tls_server_name: String::new(),
        insecure: false,
        ..settings.clone()
    }
}

/// Completes a `host:port` or URL, as client-go's `DefaultServerURL`.
fn address(given: &str, tls: bool) -> Result<String> {
    // In text that is not a URL, the password may be anywhere before the last `@`.
    let shown = given.rfind('@').map_or(given.to_owned(), |at| format!("***{}", &given[at..]));
    let wrong = || Error::Configuration(format!("host must be a URL or a host:port pair: {shown:?}"));
    let whole = match given.split_once("://") {
        Some(("http" | "https", _)) => given.to_owned(),
        Some(_) => return Err(wrong()),
        None => format!("{}://{given}", if tls { "https" } else { "http" }),
    };
    let uri: http::Uri = whole.parse().map_err(|_| wrong())?;
    if uri.host().unwrap_or_default().is_empty() {
        return Err(wrong());
    }
    // Request paths are appended, so a query would end up in the middle of the URL.
    Ok(whole.split(['?', '#']).next().unwrap_or_default().to_owned())
}

fn load(settings: &Settings) -> Result<Kubeconfig> {
    let mut merged = Kubeconfig::default();
    for path in &settings.kubeconfig {
        if path.as_os_str().is_empty() {
            continue;
        }
        if let Err(error) = path.metadata()
            && error.kind() == io::ErrorKind::NotFound
        {
            if settings.explicit_kubeconfig {
                return Err(Error::Configuration(format!("stat {}: {}", path.display(), io_text(&error))));
            }
            continue;
        }
        let failed = |text: String| {
            Error::Configuration(format!("error loading config file \"{}\": {text}", path.display()))
        };
        // `read_from` resolves relative paths of certificates against the folder of the file, which a pipe does not
        // have.
        let loaded = match read_stream(path) {
            Some(text) => {
                let text = text.map_err(|error| failed(error.to_string()))?;
                let problem = |error| yaml_error(text.as_bytes()).unwrap_or_else(|| error_text(&error));
                Kubeconfig::from_yaml(&text).or_else(|error| {
                    parse_lenient(text.as_bytes(), path).ok_or_else(|| failed(problem(error)))
                })?
            }
            None => Kubeconfig::read_from(path).or_else(|error| {
                let config = std::fs::read(path).ok().and_then(|text| parse_lenient(&text, path));
                config.ok_or_else(|| failed(yaml_file_error(path).unwrap_or_else(|| error_text(&error))))
            })?,
        };
        // As in kubectl, the first file that defines a cluster, user or context of some name wins; an empty
        // `current-context` counts as not set.
        merged.current_context.take_if(|context| context.is_empty());
        merged = merged.merge(loaded).map_err(|error| Error::Configuration(error.to_string()))?;
    }
    Ok(merged)
}

/// Parses a kubeconfig with missing names. Go reads these as empty; kube rejects them.
fn parse_lenient(text: &[u8], path: &Path) -> Option<Kubeconfig> {
    let mut root = pintle_yaml::read_map(text).ok()?;
    for list in ["clusters", "contexts", "users"] {
        let Some(Node::List(entries)) = root.get_mut(list.as_bytes()) else { continue };
        for entry in entries {
            let Node::Map(entry) = entry else { continue };
            default_to_empty(entry, "name");
            if let Some(Node::Map(context)) = entry.get_mut(b"context".as_slice()) {
                default_to_empty(context, "cluster");
            }
        }
    }
    let text = pintle_yaml::write(&Node::Map(root)).ok()?;
    let mut config = Kubeconfig::from_yaml(&String::from_utf8_lossy(&text)).ok()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let clusters = config.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
    let users = config.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut());
    let files = clusters.map(|cluster| &mut cluster.certificate_authority).chain(
        users.flat_map(|user| [&mut user.client_certificate, &mut user.client_key, &mut user.token_file]),
    );
    for file in files.flatten().filter(|file| !file.is_empty()) {
        *file = folder.join(&*file).to_string_lossy().into_owned();
    }
    Some(config)
}

/// Inserts an empty string for a missing or null key.
fn default_to_empty(map: &mut Map<Node>, key: &str) {
    if matches!(map.get(key.as_bytes()), None | Some(Node::Nil)) {
        map.insert(key.into(), Node::Str("".into()));
    }
}

/// The largest kubeconfig, in bytes.
const MAX_KUBECONFIG: u64 = 16 << 20;

/// Reads a file that is not regular or is too large, such as the output of another command (`<(…)`): it can be read
/// only once and may not end. `None` for a regular file.
fn read_stream(path: &Path) -> Option<std::io::Result<String>> {
    if std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= MAX_KUBECONFIG) {
        return None;
    }
    let read = |file: std::fs::File| {
        let mut text = String::new();
        file.take(MAX_KUBECONFIG + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_KUBECONFIG {
            return Err(std::io::Error::other(format!("larger than {} MiB", MAX_KUBECONFIG >> 20)));
        }
        Ok(text)
    };
    Some(std::fs::File::open(path).and_then(read))
}

/// The message of Go's YAML reader for an invalid file.
fn yaml_file_error(path: &Path) -> Option<String> {
    yaml_error(&std::fs::read(path).ok()?)
}

fn yaml_error(text: &[u8]) -> Option<String> {
    pintle_yaml::read_exact(text).err().map(|error| error.to_string())
}

fn override_cluster(mut cluster: Cluster, settings: &Settings) -> Cluster {
    if !settings.server.is_empty() {
        cluster.server = Some(settings.server.clone());
    }
    // TLS flags replace all TLS settings of the file, since a mix of both could contradict itself.
    if settings.insecure || !settings.ca_file.is_empty() {
        cluster.insecure_skip_tls_verify = Some(settings.insecure);
        cluster.certificate_authority = non_empty(&settings.ca_file);
        cluster.certificate_authority_data = None;
    }
    // Another server has another certificate, so that the name in the file no longer applies.
    if !settings.tls_server_name.is_empty() || !settings.server.is_empty() {
        cluster.tls_server_name = non_empty(&settings.tls_server_name);
    }
    for field in [
        &mut cluster.certificate_authority,
        &mut cluster.certificate_authority_data,
        &mut cluster.tls_server_name,
        &mut cluster.proxy_url,
    ] {
        if field.as_deref() == Some("") {
            *field = None;
        }
    }
    cluster
}

fn override_user(mut user: AuthInfo, settings: &Settings) -> AuthInfo {
    if !settings.token.is_empty() {
        user.token = Some(settings.token.clone().into());
        user.token_file = None;
        // An explicit token replaces every other way to authenticate.
        user.exec = None;
        user.auth_provider = None;
        user.username = None;
        user.password = None;
    }
    if !settings.as_user.is_empty() {
        user.impersonate = Some(settings.as_user.clone());
    }
    if !settings.as_groups.is_empty() {
        user.impersonate_groups = Some(settings.as_groups.clone());
    }
    for field in [
        &mut user.token_file,
        &mut user.client_certificate,
        &mut user.client_certificate_data,
        &mut user.client_key,
        &mut user.impersonate,
        &mut user.impersonate_uid,
    ] {
        if field.as_deref() == Some("") {
            *field = None;
        }
    }
    user
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn check_user(user: &AuthInfo, name: &str, problems: &mut Vec<String>) {
    let certificate = user.client_certificate.is_some() || user.client_certificate_data.is_some();
    if certificate && user.client_key.is_none() && user.client_key_data.is_none() {
        problems.push(format!(
            "client-key-data or client-key must be specified for {name} to use the clientCert authentication method."
        ));
    }
    if user.client_certificate_data.is_none() {
        check_file("client-cert", user.client_certificate.as_deref(), name, problems);
    }
    if certificate && user.client_key_data.is_none() {
        check_file("client-key", user.client_key.as_deref(), name, problems);
    }
    if let Some(exec) = &user.exec
        && exec.command.as_deref().unwrap_or_default().is_empty()
    {
        problems.push(format!("command must be specified for {name} to use exec authentication plugin"));
    }
    let others = user.impersonate_uid.is_some()
        || user.impersonate_groups.as_ref().is_some_and(|groups| !groups.is_empty())
        || user.impersonate_user_extra.as_ref().is_some_and(|extra| !extra.is_empty());
    if user.impersonate.is_none() && others {
        problems
            .push(format!("requesting uid, groups or user-extra for {name} without impersonating a user"));
    }
}

fn check_cluster(cluster: &Cluster, name: &str, problems: &mut Vec<String>) {
    if cluster.certificate_authority_data.is_none() {
        check_file("certificate-authority", cluster.certificate_authority.as_deref(), name, problems);
    }
    let authority = cluster.certificate_authority.is_some() || cluster.certificate_authority_data.is_some();
    if cluster.insecure_skip_tls_verify == Some(true) && authority {
        problems.push("specifying a root certificates file with the insecure flag is not allowed".into());
    }
}

fn check_file(what: &str, path: Option<&str>, name: &str, problems: &mut Vec<String>) {
    let Some(path) = path else { return };
    if let Err(error) = File::open(path) {
        let why = io_text(&error);
        problems.push(format!("unable to read {what} {path} for {name} due to open {path}: {why}"));
    }
}

/// An I/O error as Go words it.
fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "is a directory".into(),
        _ => error.to_string(),
    }
}

/// The message of an error, with those of its causes that it does not repeat.
pub(crate) fn error_text(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |&cause| cause.source()) {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(settings: &Settings) -> String {
        ResolvedConfig::resolve(settings).err().expect("refused").to_string()
    }

    fn file(text: &str) -> (tempfile::TempDir, Settings) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config");
        std::fs::write(&path, text).expect("written");
        (folder, Settings { kubeconfig: vec![path], ..Settings::default() })
    }

    const TWO: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters:\n- {name: a, cluster: {server: 'https://a:1', tls-server-name: x, certificate-authority-data: YQ==}}\n\
        - {name: b, cluster: {server: 'https://b:1'}}\n\
        contexts:\n- {name: a, context: {cluster: a, user: u, namespace: n}}\n- {name: b, context: {cluster: b, user: u}}\n\
        users:\n- {name: u, user: {token: t, exec: {command: x, apiVersion: v}}}\n";

    #[test]
    fn the_current_context_is_used_unless_another_is_wanted() {
        let (_folder, mut settings) = file(TWO);
        let choice = ResolvedConfig::resolve(&settings).expect("good");
        assert_eq!(choice.cluster.server.as_deref(), Some("https://a:1"));
        assert_eq!(choice.context.namespace.as_deref(), Some("n"));
        settings.context = "b".into();
        let choice = ResolvedConfig::resolve(&settings).expect("good");
        assert_eq!(choice.cluster.server.as_deref(), Some("https://b:1"));
        settings.context = "c".into();
        assert_eq!(problem(&settings), "context \"c\" does not exist");
    }

    #[test]
    fn an_empty_current_context_gives_way_to_that_of_a_later_file() {
        let (folder, mut settings) = file("apiVersion: v1\nkind: Config\ncurrent-context: \"\"\n");
        let later = folder.path().join("later");
        std::fs::write(&later, TWO).expect("written");
        settings.kubeconfig.push(later);
        let choice = ResolvedConfig::resolve(&settings).expect("good");
        assert_eq!(choice.cluster.server.as_deref(), Some("https://a:1"));
    }

    #[test]
    fn flags_win_over_files_and_clear_what_would_contradict_them() {
        let (_folder, mut settings) = file(TWO);
        settings.server = "https://flag:2".into();
        settings.insecure = true;
        settings.token = "flag".into();
        let choice = ResolvedConfig::resolve(&settings).expect("good");
        assert_eq!(choice.cluster.server.as_deref(), Some("https://flag:2"));
        assert_eq!(choice.cluster.certificate_authority_data, None);
        assert_eq!(choice.cluster.tls_server_name, None);
        assert!(choice.user.exec.is_none());
        assert!(!choice.is_default());
    }

    #[test]
    fn without_any_file_the_local_server_is_meant() {
        let choice = ResolvedConfig::resolve(&Settings::default()).expect("good");
        assert_eq!(choice.cluster.server.as_deref(), Some("http://localhost:8080"));
        assert!(choice.is_default());
    }

    #[test]
    fn errors_have_kubectls_messages() {
        let groups =
            Settings { as_groups: vec!["g".into()], server: "https://a".into(), ..Settings::default() };
        assert_eq!(
            problem(&groups),
            "invalid configuration: requesting uid, groups or user-extra for  without impersonating a user"
        );
        let authority = Settings { ca_file: "/no/such".into(), ..Settings::default() };
        assert_eq!(
            problem(&authority),
            "invalid configuration: unable to read certificate-authority /no/such for  due to open /no/such: no such file or directory"
        );
        let missing = Settings {
            kubeconfig: vec!["/no/such".into()],
            explicit_kubeconfig: true,
            ..Settings::default()
        };
        assert_eq!(problem(&missing), "stat /no/such: no such file or directory");
        let server = Settings { server: "ht!tp://".into(), ..Settings::default() };
        assert_eq!(problem(&server), "host must be a URL or a host:port pair: \"ht!tp://\"");
        let (_folder, settings) = file("current-context: x\n");
        assert_eq!(
            problem(&settings),
            "invalid configuration: context was not found for specified context: x"
        );
    }

    #[test]
    fn contexts_that_are_empty_are_contexts() {
        let (folder, mut settings) = file(
            "contexts: [{name: a, context: }, {name: b, context: {}}, {name: c, context: {user: u, namespace: n}}, {name: d}]\n\
             clusters: [{name: '', cluster: {server: 'https://a:1', certificate-authority: ca}}]\nusers: [{user: {}}]\n",
        );
        std::fs::write(folder.path().join("ca"), "").expect("written");
        for context in ["a", "b", "c", "d"] {
            settings.context = context.into();
            let choice = ResolvedConfig::resolve(&settings).expect("good");
            assert_eq!(choice.cluster.server.as_deref(), Some("https://a:1"), "{context}");
            let authority = choice.cluster.certificate_authority.expect("relative to the file");
            assert_eq!(Path::new(&authority), folder.path().join("ca"), "{context}");
        }
        settings.context = "e".into();
        assert_eq!(problem(&settings), "context \"e\" does not exist");
    }

    #[test]
    fn a_file_that_is_no_yaml_is_named() {
        let (_folder, settings) = file("a: [");
        let text = problem(&settings);
        assert!(text.starts_with("error loading config file \""), "{text}");
        assert!(text.contains("yaml: line 1: did not find expected node content"), "{text}");
    }
}
