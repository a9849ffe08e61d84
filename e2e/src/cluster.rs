//! The cluster under test, from the environment.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::Node;
use tempfile::TempDir;

/// How complete the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// API server and controllers only: pods stay pending.
    ControlPlane,
    /// The embedded API, `pintle cluster serve`: pods change their phases, but no containers run.
    Embedded,
    /// Pods run.
    Node,
}

/// A cluster that tests may write to.
#[derive(Debug)]
pub struct Cluster {
    /// The kubeconfig.
    pub kubeconfig: PathBuf,
    /// How complete it is.
    pub level: Level,
    pub(crate) server: String,
    /// The folder with the certificates as files, because curl takes only files; unused without TLS.
    pub(crate) keys: TempDir,
}

impl Cluster {
    /// The cluster from the environment, if set.
    ///
    /// # Panics
    /// If tests must not write to it, or its kubeconfig is invalid.
    pub fn named() -> Option<&'static Cluster> {
        static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
        let read = || {
            let path = PathBuf::from(env::var_os("PINTLE_E2E_KUBECONFIG")?);
            let level = match env::var("PINTLE_E2E_LEVEL").as_deref() {
                Ok("node") => Level::Node,
                Ok("embedded") => Level::Embedded,
                _ => Level::ControlPlane,
            };
            let text =
                fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
            let cluster = Cluster::parse(path, level, &text);
            Some(cluster.unwrap_or_else(|problem| panic!("PINTLE_E2E_KUBECONFIG: {problem}")))
        };
        CLUSTER.get_or_init(read).as_ref()
    }

    fn parse(kubeconfig: PathBuf, level: Level, text: &[u8]) -> Result<Cluster, String> {
        let config = pintle_yaml::read(text).map_err(|error| error.to_string())?;
        let context = text_at(&config, &["current-context"])?;
        if !context.starts_with("pintle-e2e") {
            return Err(format!(
                "context `{context}` is refused: tests write only to contexts named pintle-e2e…"
            ));
        }
        let names = entry(&config, "contexts", context, "context")?;
        let cluster = entry(&config, "clusters", text_at(names, &["cluster"])?, "cluster")?;
        let user = entry(&config, "users", text_at(names, &["user"])?, "user")?;
        let keys = TempDir::new().map_err(|error| error.to_string())?;
        let server = text_at(cluster, &["server"])?.to_owned();
        if is_secure(&server) {
            write_data(&keys.path().join("ca.crt"), cluster, "certificate-authority-data")?;
            write_data(&keys.path().join("user.crt"), user, "client-certificate-data")?;
            write_data(&keys.path().join("user.key"), user, "client-key-data")?;
        }
        Ok(Cluster { kubeconfig, level, server, keys })
    }

    /// An embedded API without TLS.
    pub(crate) fn embedded(kubeconfig: PathBuf, server: &str) -> Cluster {
        let keys = TempDir::new().expect("a folder can be made");
        Cluster { kubeconfig, level: Level::Embedded, server: server.to_owned(), keys }
    }

    /// The URL of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The folder of the lock files.
    pub(crate) fn locks(&self) -> PathBuf {
        self.kubeconfig.with_file_name("locks")
    }

    /// Whether the server uses TLS and client certificates.
    pub(crate) fn is_secure(&self) -> bool {
        is_secure(&self.server)
    }
}

fn is_secure(server: &str) -> bool {
    server.starts_with("https://")
}

fn text_at<'a>(node: &'a Node, path: &[&str]) -> Result<&'a str, String> {
    let found = path.iter().try_fold(node, |node, key| node.get(*key));
    found.and_then(Node::as_str).ok_or_else(|| format!("it has no `{}`", path.join(".")))
}

/// The part `kind` of the entry `name` in a list of named entries.
fn entry<'a>(config: &'a Node, list: &str, name: &str, kind: &str) -> Result<&'a Node, String> {
    let mut entries = config.get(list).and_then(Node::as_list).unwrap_or_default().iter();
    let found = entries.find(|entry| text_at(entry, &["name"]) == Ok(name));
    found.and_then(|entry| entry.get(kind)).ok_or_else(|| format!("it has no `{name}` in `{list}`"))
}

fn write_data(path: &Path, node: &Node, key: &str) -> Result<(), String> {
    let bytes = STANDARD.decode(text_at(node, &[key])?).map_err(|error| format!("`{key}`: {error}"))?;
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(context: &str) -> String {
        format!(
            "\
current-context: {context}
contexts: [{{name: {context}, context: {{cluster: one, user: me}}}}]
clusters: [{{name: one, cluster: {{server: 'https://there', certificate-authority-data: QQ==}}}}]
users: [{{name: me, user: {{client-certificate-data: QQ==, client-key-data: Qg==}}}}]
"
        )
    }

    #[test]
    fn a_context_that_is_not_for_tests_is_refused() {
        let parse =
            |context| Cluster::parse("config".into(), Level::ControlPlane, config(context).as_bytes());
        let refused = parse("production").unwrap_err();
        assert!(refused.starts_with("context `production` is refused"), "{refused}");
        assert!(parse("my-pintle-e2e").is_err());
        let cluster = parse("pintle-e2e-oldest").unwrap();
        assert_eq!(cluster.server, "https://there");
        assert_eq!(fs::read(cluster.keys.path().join("user.key")).unwrap(), b"B");
    }

    #[test]
    fn a_server_without_tls_needs_no_certificates() {
        let text = "\
current-context: pintle-e2e
contexts: [{name: pintle-e2e, context: {cluster: one, user: me}}]
clusters: [{name: one, cluster: {server: 'http://here'}}]
users: [{name: me, user: {}}]
";
        let cluster = Cluster::parse("config".into(), Level::Embedded, text.as_bytes()).unwrap();
        assert!(!cluster.is_secure() && cluster.keys.path().read_dir().unwrap().next().is_none());
        assert!(
            Cluster::parse("config".into(), Level::Node, text.replace("http:", "https:").as_bytes()).is_err()
        );
    }
}
