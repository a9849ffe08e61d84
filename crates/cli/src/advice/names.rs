//! Names of files, releases and namespaces that do not exist.

use std::path::Path;
use std::time::Duration;

use pintle::Silent;
use pintle::cluster::{ListParams, Resource};
use pintle::ops::{self, ListRequest};
use pintle::release::Summary;

use super::server;
use crate::connect::Connection;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::suggest::{NameOf, likeliest, question};

/// The timeout of requests that only serve advice.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Improves a failure that is known by its text only.
pub(super) fn improve(failure: &mut Failure, invocation: &mut Invocation<'_>) {
    if let Some(namespace) = server::missing_namespace(&failure.text) {
        server::no_namespace(failure, invocation, &namespace);
    }
}

/// The nearest of some names, or the list of them.
pub(super) fn one_of(what: &str, typed: &str, known: &[&str], otherwise: &str) -> String {
    if let Some(question) = question(NameOf::Other, typed, known) {
        return question;
    }
    match known.len() {
        0 => otherwise.to_owned(),
        1 => format!("the only {what} is `{}`", known[0]),
        2..=8 => format!(
            "there are {}",
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
        _ => otherwise.to_owned(),
    }
}

/// The path of the file or folder whose name is nearest to that of one that does not exist.
pub(crate) fn near_file(path: &str) -> Option<String> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<String> =
        entries.take(10_000).flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let mut known: Vec<&str> = names.iter().map(String::as_str).collect();
    known.sort_unstable();
    let near = likeliest(NameOf::Other, name, &known)?;
    Some(folder.map_or_else(|| near.to_owned(), |folder| folder.join(near).to_string_lossy().into_owned()))
}

/// The releases of all namespaces; none if they cannot be listed in time.
pub(super) fn releases(invocation: &mut Invocation<'_>) -> Vec<Summary> {
    let request = ListRequest::default();
    ask(invocation, async |connection| ops::list(&connection.session, &request, &mut Silent).await.ok())
        .unwrap_or_default()
}

/// The namespaces of the cluster; none if they cannot be listed in time.
pub(super) fn namespaces(invocation: &mut Invocation<'_>) -> Vec<String> {
    let found = ask(invocation, async |connection| {
        let resource = Resource::new("", "v1", "Namespace", "namespaces");
        let heads = ListParams { metadata_only: true, ..ListParams::default() };
        connection.session.cluster.list(&resource, "", &heads).await.ok()
    });
    found.into_iter().flatten().map(|namespace| namespace.name().to_owned()).collect()
}

/// Runs a request that only serves advice.
fn ask<T>(
    invocation: &mut Invocation<'_>,
    question: impl AsyncFnOnce(&Connection) -> Option<T>,
) -> Option<T> {
    // The file of an embedded cluster that does not exist was reported already.
    let chosen = crate::embedded::from_flags(&invocation.flags, invocation.environment).ok()?;
    if chosen.and_then(|embedded| embedded.file).is_some_and(|file| !file.exists()) {
        return None;
    }
    let connection = Connection::open(invocation).ok()?;
    let answer = connection
        .try_run(async { tokio::time::timeout(TIMEOUT, question(&connection)).await.ok().flatten() });
    // A request that timed out is not awaited.
    connection.shutdown();
    answer
}
