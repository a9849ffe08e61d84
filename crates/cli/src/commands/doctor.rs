//! `doctor`: checks the installation, the cluster and the rights, and says what to do about what is wrong.

use std::path::Path;
use std::time::Duration;

use pintle::cluster::crds;
use pintle::release::{Query, Store};
use pintle::repo::Repositories;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::env::{Home, Setting};
use crate::failure::{Failure, FailureKind};
use crate::flag::names;
use crate::invocation::Invocation;
use crate::{kubeconfig, plugins, remote};

/// How long the cluster may take to answer all questions.
const TIMEOUT: Duration = Duration::from_secs(20);

/// `doctor`
pub(crate) static COMMAND: Command = Command {
    name: "doctor",
    short: "check the installation, the cluster and your rights",
    long: "\
Check what commands need: the kubeconfig and its context, the cluster and its version, the custom resource definitions of the
native store, the rights to releases, the stores that have releases, repositories, plugins and caches. Each line says `ok`, or
what to do.

Nothing is changed. The exit code is 1 if something that commands need is missing.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Ok,
    /// It works without this.
    Note,
    Problem,
}

struct Line {
    mark: Mark,
    what: &'static str,
    found: String,
    /// What to do.
    advice: Option<String>,
}

impl Line {
    fn ok(what: &'static str, found: impl Into<String>) -> Line {
        Line { mark: Mark::Ok, what, found: found.into(), advice: None }
    }

    fn bad(mark: Mark, what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Line {
        Line { mark, what, found: found.into(), advice: Some(advice.into()) }
    }
}

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let mut lines = vec![Line::ok("version", concat!("pintle ", env!("CARGO_PKG_VERSION")))];
    lines.extend(configuration(invocation));
    lines.extend(cluster(invocation));
    lines.extend(local_files(invocation));
    let paint = invocation.ui.paint().on;
    let mut text = String::new();
    for Line { mark, what, found, advice } in &lines {
        let (word, color) = match mark {
            Mark::Ok => ("ok", 32),
            Mark::Note => ("note", 33),
            Mark::Problem => ("problem", 31),
        };
        let word = if paint { format!("\u{1b}[{color}m{word:7}\u{1b}[0m") } else { format!("{word:7}") };
        text.push_str(&format!("{word}  {what:12}  {found}\n"));
        text.extend(advice.iter().map(|advice| format!("{:23}{advice}\n", "")));
    }
    invocation.ui.print(&text)?;
    match lines.iter().filter(|line| line.mark == Mark::Problem).count() {
        0 => Ok(()),
        _ => Err(Failure::new(FailureKind::AlreadyReported, "something is missing")),
    }
}

/// The kubeconfig and its context.
fn configuration(invocation: &Invocation<'_>) -> Vec<Line> {
    let (flags, environment) = (&invocation.flags, invocation.environment);
    let embedded = flags.text_or_setting(names::CLUSTER, environment);
    if !embedded.is_empty() {
        return vec![Line::ok("cluster", format!("{embedded}; no kubeconfig is needed"))];
    }
    let files = kubeconfig::files(flags.text(names::KUBECONFIG), environment);
    let found: Vec<String> =
        files.iter().filter(|file| file.is_file()).map(|file| file.display().to_string()).collect();
    let mut lines = vec![match found.as_slice() {
        [] => Line::bad(
            Mark::Problem,
            "kubeconfig",
            "there is none",
            "name one with --kubeconfig or $KUBECONFIG, or try `--cluster embedded`, which needs none",
        ),
        files => Line::ok("kubeconfig", files.join(", ")),
    }];
    if !found.is_empty() {
        lines.push(match kubeconfig::current_context(flags, environment) {
            Some(context) => Line::ok(
                "context",
                format!("{} (user {}, cluster {})", context.name, context.user, context.cluster),
            ),
            None => {
                let known = kubeconfig::contexts(flags.text(names::KUBECONFIG), environment);
                let known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
                let advice = match known.as_slice() {
                    [] => "the kubeconfig has no contexts".to_owned(),
                    known => format!("choose one with --kube-context: {}", known.join(", ")),
                };
                Line::bad(Mark::Problem, "context", "none is chosen, or it does not exist", advice)
            }
        });
    }
    lines
}

/// What the cluster answers.
fn cluster(invocation: &mut Invocation<'_>) -> Vec<Line> {
    let connection = match Connection::open(invocation) {
        Ok(connection) => connection,
        Err(failure) => {
            let text = failure.own.clone().unwrap_or_else(|| failure.text.clone());
            let advice =
                failure.hint.clone().unwrap_or_else(|| "see whether the kubeconfig is right".to_owned());
            return vec![Line::bad(Mark::Problem, "connection", text, advice)];
        }
    };
    let answered = connection.try_run(async { tokio::time::timeout(TIMEOUT, ask(&connection)).await });
    let lines = answered.unwrap_or_else(|_| {
        vec![Line::bad(
            Mark::Problem,
            "cluster",
            format!("no answer within {} seconds", TIMEOUT.as_secs()),
            "see whether the cluster runs, and whether a proxy or firewall is in between",
        )]
    });
    connection.shutdown();
    lines
}

async fn ask(connection: &Connection) -> Vec<Line> {
    let cluster = &connection.session.cluster;
    let version = match cluster.version().await {
        Ok(version) => version.git_version.clone(),
        Err(error) => {
            let advice = "see whether the cluster runs, and whether --kube-context names the right one";
            return vec![Line::bad(Mark::Problem, "cluster", error.to_string(), advice)];
        }
    };
    let mut lines =
        vec![Line::ok("cluster", format!("Kubernetes {version}, namespace {}", connection.namespace))];
    let api_version = format!("{}/{}", crds::GROUP, crds::VERSION);
    lines.push(match cluster.serves_kind(&api_version, "Release").await {
        Ok(true) => Line::ok("definitions", format!("the native store is served as {api_version}")),
        Ok(false) => Line::bad(
            Mark::Note,
            "definitions",
            "the native store is not installed yet",
            "the first install does it, or an administrator with `pintle init`; HELM_DRIVER=secret needs none",
        ),
        Err(error) => Line::bad(Mark::Problem, "definitions", error.to_string(), "see the message of the server"),
    });
    let stores = std::iter::once(&connection.session.store).chain(&connection.session.other_stores);
    for (index, store) in stores.enumerate() {
        lines.push(releases(connection, store.as_ref(), index == 0).await);
    }
    lines
}

/// Whether the releases of the namespace can be read from a store.
async fn releases(connection: &Connection, store: &dyn Store, is_main: bool) -> Line {
    let query = Query { namespace: Some(connection.namespace.clone()), ..Query::default() };
    let what = if is_main { "releases" } else { "other store" };
    match store.latest(&query).await {
        Ok(found) => {
            let found = crate::output::grid::counted(found.len(), "release");
            Line::ok(what, format!("{found} in the store `{}`", store.driver_word()))
        }
        Err(error) => Line::bad(
            if is_main { Mark::Problem } else { Mark::Note },
            what,
            format!("the store `{}` cannot be read: {error}", store.driver_word()),
            "docs/reference/rbac.md lists the rights that are needed",
        ),
    }
}

/// Repositories, plugins and caches.
fn local_files(invocation: &mut Invocation<'_>) -> Vec<Line> {
    let folders = remote::folders(&invocation.flags, invocation.environment);
    let repositories = Repositories::load_partly(&folders.repository_config);
    let index = |name: &str| folders.repository_cache.join(format!("{name}-index.yaml"));
    let missing: Vec<&str> = repositories
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .filter(|name| !index(name).is_file())
        .collect();
    let count = repositories.entries.len();
    let mut lines = vec![match (count, missing.as_slice()) {
        (0, _) => Line::ok("repositories", "none; `pintle repo add NAME URL` adds one"),
        (count, []) => Line::ok("repositories", count.to_string()),
        (count, missing) => Line::bad(
            Mark::Note,
            "repositories",
            format!("{count}, of which {} have no index yet", missing.len()),
            format!("`pintle repo update {}` downloads them", missing.join(" ")),
        ),
    }];
    let of_plugins = plugins::folders(invocation.environment);
    lines.push(match plugins::load(invocation.personality, &of_plugins, invocation.ui) {
        Ok(found) => Line::ok("plugins", found.len().to_string()),
        Err(failure) => {
            Line::bad(Mark::Note, "plugins", failure.text.clone(), "`pintle plugin list` shows them")
        }
    });
    let cache = invocation.environment.home(Home::Cache, "");
    lines.push(match std::fs::metadata(Path::new(&cache)) {
        Ok(found) if found.permissions().readonly() => Line::bad(
            Mark::Problem,
            "cache",
            format!("{cache} cannot be written"),
            "set HELM_CACHE_HOME to a directory of yours",
        ),
        Ok(_) => Line::ok("cache", cache),
        Err(_) => Line::ok("cache", format!("{cache}, which is made when it is needed")),
    });
    if invocation.environment.setting(Setting::KubeInsecure) == "true" {
        lines.push(Line::bad(
            Mark::Note,
            "security",
            "HELM_KUBEINSECURE_SKIP_TLS_VERIFY is set: certificates of the cluster are not checked",
            "name the CA of the cluster with HELM_KUBECAFILE instead",
        ));
    }
    lines
}
