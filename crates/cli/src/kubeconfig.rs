//! Reads the context names and the current namespace of a kubeconfig. The cluster client parses the rest; rendering and
//! completion need only these, quickly.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use pintle_tree::{Map, Node};

use crate::env::Environment;
use crate::flag::names;
use crate::flag::parsed::Parsed;
use crate::path::join;
use crate::read;

/// The namespace: of the flag or its variable, of the current context, of the Pod we run in, or `default`. An
/// unreadable kubeconfig is ignored, as in Helm.
pub(crate) fn namespace(flags: &Parsed, environment: &Environment) -> String {
    let given = flags.text_or_setting(names::NAMESPACE, environment);
    if !given.is_empty() {
        return given;
    }
    let fallback = || "default".to_owned();
    // The embedded cluster does not use a kubeconfig.
    if !flags.text_or_setting(names::CLUSTER, environment).is_empty() {
        return fallback();
    }
    let Some(config) = Config::load(flags.text(names::KUBECONFIG), environment) else { return fallback() };
    let context = match flags.text_or_setting(names::KUBE_CONTEXT, environment) {
        name if !name.is_empty() => name,
        _ => config.current.clone().unwrap_or_default(),
    };
    match config.namespace_of(&context) {
        Some(namespace) if !namespace.is_empty() => namespace,
        Some(_) => pod_namespace(environment).unwrap_or_else(fallback),
        None if context.is_empty() => pod_namespace(environment).unwrap_or_else(fallback),
        None => fallback(),
    }
}

/// The kubeconfig files: the one of the flag, or those of the search path.
pub(crate) fn files(explicit: &str, environment: &Environment) -> Vec<PathBuf> {
    if !explicit.is_empty() {
        return vec![explicit.into()];
    }
    search_path(environment).into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

/// The names of all contexts with their clusters, sorted.
pub(crate) fn contexts(explicit: &str, environment: &Environment) -> Vec<(String, String)> {
    let config = Config::load(explicit, environment).unwrap_or_default();
    let mut contexts: Vec<(String, String)> =
        config.contexts.into_iter().map(|context| (context.name, context.cluster)).collect();
    contexts.sort();
    contexts
}

/// All contexts, sorted, each with its cluster, its user and its namespace.
pub(crate) fn all_contexts(
    explicit: &str,
    environment: &Environment,
) -> Vec<(String, String, String, String)> {
    let config = Config::load(explicit, environment).unwrap_or_default();
    let contexts = config.contexts.into_iter();
    let mut contexts: Vec<_> =
        contexts.map(|context| (context.name, context.cluster, context.user, context.namespace)).collect();
    contexts.sort();
    contexts
}

/// Which context of the kubeconfig is used.
pub(crate) struct CurrentContext {
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) cluster: String,
}

/// The context of the flag, or the current one; `None` if the kubeconfig has no such context or does not count.
pub(crate) fn current_context(flags: &Parsed, environment: &Environment) -> Option<CurrentContext> {
    if !flags.text_or_setting(names::CLUSTER, environment).is_empty() {
        return None;
    }
    let config = Config::load(flags.text(names::KUBECONFIG), environment)?;
    let name = match flags.text_or_setting(names::KUBE_CONTEXT, environment) {
        name if name.is_empty() => config.current.clone()?,
        name => name,
    };
    let context = config.contexts.into_iter().find(|context| context.name == name)?;
    Some(CurrentContext { name, user: context.user, cluster: context.cluster })
}

#[derive(Default)]
struct Config {
    current: Option<String>,
    contexts: Vec<Context>,
}

struct Context {
    name: String,
    cluster: String,
    user: String,
    namespace: String,
}

impl Config {
    /// Reads the file of the flag, or merges all files of the search path; the first of equal names wins, as in
    /// client-go.
    fn load(explicit: &str, environment: &Environment) -> Option<Config> {
        let mut config = Config::default();
        if !explicit.is_empty() {
            config.add(&read::file(explicit, read::MAX_SETTINGS).ok()?)?;
            return Some(config);
        }
        for path in search_path(environment).iter().filter(|path| !path.is_empty()) {
            match read::file(path, read::MAX_SETTINGS) {
                Ok(text) => config.add(&text)?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        Some(config)
    }

    fn add(&mut self, text: &[u8]) -> Option<()> {
        let root = pintle_yaml::read_map(text).ok()?;
        let current = text_of(&root, "current-context");
        if self.current.is_none() && !current.is_empty() {
            self.current = Some(current);
        }
        for (name, context) in named(&root, "contexts", "context") {
            if self.contexts.iter().all(|known| known.name != name) {
                let cluster = text_of(&context, "cluster");
                let (user, namespace) = (text_of(&context, "user"), text_of(&context, "namespace"));
                self.contexts.push(Context { name, cluster, user, namespace });
            }
        }
        Some(())
    }

    fn namespace_of(&self, name: &str) -> Option<String> {
        self.contexts.iter().find(|context| context.name == name).map(|context| context.namespace.clone())
    }
}

fn search_path(environment: &Environment) -> Vec<String> {
    match environment.variable("KUBECONFIG").filter(|text| !text.is_empty()) {
        Some(paths) => {
            std::env::split_paths(&paths).map(|path| path.to_string_lossy().into_owned()).collect()
        }
        None => vec![join(&[&environment.user_home(), ".kube", "config"])],
    }
}

/// The entries of a list such as `contexts`: `- name: x` with `body: {…}`. A body may be empty or missing.
fn named<'a>(root: &'a Map<Node>, list: &str, body: &'a str) -> Vec<(String, Cow<'a, Map<Node>>)> {
    let Some(Node::List(entries)) = root.get(list.as_bytes()) else { return Vec::new() };
    let entry = |node: &'a Node| match node {
        Node::Map(entry) => match entry.get(body.as_bytes()) {
            Some(Node::Map(body)) => Some((text_of(entry, "name"), Cow::Borrowed(body))),
            Some(Node::Nil) | None => Some((text_of(entry, "name"), Cow::Owned(Map::default()))),
            Some(_) => None,
        },
        _ => None,
    };
    entries.iter().filter_map(entry).collect()
}

fn text_of(map: &Map<Node>, key: &str) -> String {
    match map.get(key.as_bytes()) {
        Some(Node::Str(text)) => text.to_string(),
        _ => String::new(),
    }
}

/// The namespace of the Pod we run in, from its service account.
fn pod_namespace(environment: &Environment) -> Option<String> {
    const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let set = |name: &str| environment.variable(name).is_some_and(|text| !text.is_empty());
    let in_a_pod = set("KUBERNETES_SERVICE_HOST")
        && set("KUBERNETES_SERVICE_PORT")
        && Path::new(ACCOUNT).join("token").is_file();
    if !in_a_pod {
        return None;
    }
    if let Some(namespace) = environment.variable("POD_NAMESPACE").filter(|text| !text.is_empty()) {
        return Some(namespace);
    }
    let text = std::fs::read_to_string(Path::new(ACCOUNT).join("namespace")).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
