//! Completion of releases, revisions and namespaces, by requests to the cluster.

use std::collections::BTreeSet;
use std::time::Duration;

use pintle::Silent;
use pintle::cluster::{ListParams, Resource};
use pintle::ops::{self, ListRequest};
use pintle::release::Summary;

use super::{Completions, Directive};
use crate::connect::Connection;
use crate::invocation::Invocation;
use crate::personality::Personality;

/// The timeout of cluster requests while the user waits for completions.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The releases of the namespace that are not on the command line yet. They are not filtered by what was typed, because
/// some shells match more than prefixes.
pub(super) fn releases(invocation: &mut Invocation<'_>) -> Completions {
    let named: BTreeSet<String> = invocation.flags.operands.iter().cloned().collect();
    let found = ask(invocation, async |connection| {
        let request = ListRequest { namespace: Some(connection.namespace.clone()), ..ListRequest::default() };
        ops::list(&connection.session, &request, &mut Silent).await.ok()
    });
    let Some(found) = found else { return Completions::nothing(Directive::Default) };
    let describe = |release: &Summary| {
        let about = format!("{}-{} -> {}", release.chart_name, release.chart_version, release.status_word);
        (release.name.clone(), about)
    };
    let found = found.iter().filter(|release| !named.contains(&release.name));
    Completions::new(Directive::NoFiles, found.map(describe).collect())
}

/// The revisions of a release in order; under Helm's name in the order of its stored objects, where 10 comes before 2.
pub(super) fn revisions(invocation: &mut Invocation<'_>, release: &str) -> Completions {
    let as_helm = invocation.personality == Personality::Helm;
    let found = ask(invocation, async |connection| {
        let history = ops::history(&connection.session, &connection.namespace, release, 0).await;
        let mut history = history.ok()?;
        if as_helm && connection.lists_by_name {
            history.sort_by_cached_key(|version| version.number.to_string());
        }
        Some(history)
    });
    let Some(found) = found else { return Completions::nothing(Directive::Error) };
    let describe = |version: &Summary| {
        let about =
            format!("App: {}, Chart: {}-{}", version.app_version, version.chart_name, version.chart_version);
        (version.number.to_string(), about)
    };
    Completions::new(Directive::NoFiles, found.iter().map(describe).collect())
}

/// The namespaces of the cluster.
pub(super) fn namespaces(invocation: &mut Invocation<'_>) -> Completions {
    let found = ask(invocation, async |connection| {
        let resource = Resource::new("", "v1", "Namespace", "namespaces");
        let heads = ListParams { metadata_only: true, ..ListParams::default() };
        connection.session.cluster.list(&resource, "", &heads).await.ok()
    });
    let Some(found) = found else { return Completions::nothing(Directive::Default) };
    let names = found.iter().map(|namespace| (namespace.name().to_owned(), String::new()));
    Completions::new(Directive::NoFiles, names.collect())
}

/// Runs a request, if there is a cluster and it responds in time.
fn ask<T>(
    invocation: &mut Invocation<'_>,
    question: impl AsyncFnOnce(&Connection) -> Option<T>,
) -> Option<T> {
    let connection = Connection::open(invocation).ok()?;
    let answer = connection
        .try_run(async { tokio::time::timeout(TIMEOUT, question(&connection)).await.ok().flatten() });
    // A request that timed out is not awaited.
    connection.shutdown();
    answer
}
