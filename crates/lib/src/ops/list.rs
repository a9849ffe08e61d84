//! `list`: list the releases of a namespace or of the whole cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pintle_events::{Context, Event};
use pintle_regex::Regex;
use pintle_release::{Query, ReleaseVersion, Selector, Status, Store, StoreError, Summary};
use pintle_tree::LogLine;

use crate::lifecycle::{context, record_metadata};
use crate::records::Records;
use crate::{Error, Reporter, Result, Session, deploy, live};

/// Which releases to list, and in what order.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// The namespace; `None` for all.
    pub namespace: Option<String>,
    /// The statuses to list; empty for all.
    pub statuses: Vec<Status>,
    /// A regular expression that the name must match; empty for any.
    pub filter: String,
    /// A label selector; empty for any.
    pub selector: String,
    /// Sorts by the time of the last deployment instead of by name.
    pub by_date: bool,
    /// Reverses the order.
    pub reverse: bool,
    /// Limit of the result; 0 for no limit.
    pub limit: usize,
    /// How many releases to skip.
    pub offset: usize,
}

/// Lists releases, each by its newest version.
///
/// # Errors
/// When the filter or the selector is invalid, or a store cannot be read.
pub async fn list(
    session: &Session,
    request: &ListRequest,
    reporter: &mut dyn Reporter,
) -> Result<Vec<Summary>> {
    session.cluster.check_reachable().await?;
    deploy::emit_without_release(session, Event::PreList).await?;
    let filter = match request.filter.as_str() {
        "" => None,
        pattern => Some(Regex::compile(pattern).map_err(|error| Error::Input(error.to_string()))?),
    };
    // A superseded version is never the newest, so asking for these alone means all versions.
    let all_versions = request.statuses == [Status::Superseded];
    let mut found = Vec::new();
    for store in std::iter::once(&session.store).chain(&session.other_stores) {
        let mut listed = versions(store, request, all_versions).await?;
        listed.iter_mut().for_each(|version| version.store = store.driver_word());
        add(&mut found, listed, all_versions);
    }
    let total = found.len();
    let selector = Selector::parse(&request.selector).map_err(Error::Input)?;
    found.retain(|version| {
        filter.as_ref().is_none_or(|filter| filter.is_match(version.name.as_bytes()))
            && is_listed(version.status, &request.statuses)
            && selector.matches(&selectable_labels(
                &version.labels,
                &version.name,
                version.status,
                version.number,
            ))
    });
    sort(&mut found, request);
    let limit = if request.limit == 0 { total } else { request.limit };
    let listed: Vec<Summary> = found.into_iter().skip(request.offset).take(limit).collect();
    let listeners = listeners(session, &listed, reporter).await;
    for event in [Event::PreList, Event::PostList] {
        for (scripted, version) in &listeners {
            let outcome = emit_for_release(scripted, event, version).await;
            outcome.unwrap_or_else(|error| log_skipped_handlers(&version.name, &error, reporter));
        }
        if event == Event::PostList {
            deploy::emit_without_release(session, event).await?;
        }
    }
    session.events.report(reporter);
    Ok(listed)
}

/// Calls the handlers that the chart of a release has for an event of the list.
async fn emit_for_release(session: &Session, event: Event, version: &ReleaseVersion) -> Result<()> {
    if !session.events.listens(event) {
        return Ok(());
    }
    let context = Context::default()
        .with_release(context::release(version))
        .with_capabilities(live::capability_info(session).await?);
    session.events.emit_async(event, context).await.map(|_| ())
}

/// Returns the listed releases whose scripts handle list events, each with a session that has these handlers. The
/// releases often belong to other users, so their errors become warnings and never fail the list.
async fn listeners(
    session: &Session,
    listed: &[Summary],
    reporter: &mut dyn Reporter,
) -> Vec<(Session, ReleaseVersion)> {
    let mut listeners = Vec::new();
    if !session.events.may_run_scripts() {
        return listeners;
    }
    // Handlers of the program already get the event for the whole list.
    let session = &Session { events: session.events.scripts_only(), ..session.clone() };
    for summary in listed
        .iter()
        .filter(|summary| record_metadata::listens_to_list_events(summary.number, &summary.labels))
    {
        let load = async {
            let records = Records::find(session, &summary.namespace, &summary.name).await?;
            records.load(summary.number).await
        };
        let version = match load.await {
            Ok(version) => version,
            // The release was deleted meanwhile.
            Err(Error::VersionNotFound { .. } | Error::Store(StoreError::NotFound { .. })) => continue,
            Err(error) => {
                log_skipped_handlers(&summary.name, &error, reporter);
                continue;
            }
        };
        match session.with_stored_scripts(&version, Duration::ZERO, &[Event::PreList, Event::PostList]).await
        {
            Ok(scripted) => listeners.push((scripted, version)),
            Err(error) => log_skipped_handlers(&version.name, &error, reporter),
        }
    }
    listeners
}

fn log_skipped_handlers(release: &str, error: &Error, reporter: &mut dyn Reporter) {
    let attributes = vec![("release", release.to_owned()), ("error", error.to_string())];
    reporter.log(LogLine::warn("skipped the scripts of a release", attributes));
}

/// Adds the releases of another store. A release that is being moved is in both: the newer version counts, and of
/// equal ones the first.
fn add(found: &mut Vec<Summary>, others: Vec<Summary>, all_versions: bool) {
    let known = found.len();
    for other in others {
        let is_same = |version: &&mut Summary| {
            let facts = |version: &Summary| {
                let when = if all_versions { version.last_deployed } else { version.first_deployed };
                (version.namespace.clone(), version.name.clone(), when)
            };
            facts(version) == facts(&other) && (!all_versions || version.number == other.number)
        };
        match found[..known].iter_mut().find(is_same) {
            Some(version) if version.number < other.number => *version = other,
            Some(_) => {}
            None => found.push(other),
        }
    }
}

/// Returns whether a status is listed. As in Helm, "all" means all known statuses: a record with an unknown one is
/// not listed, but can be requested by name.
pub(super) fn is_listed(status: Status, wanted: &[Status]) -> bool {
    if wanted.is_empty() { status != Status::Unknown } else { wanted.contains(&status) }
}

async fn versions(store: &Arc<dyn Store>, request: &ListRequest, all: bool) -> Result<Vec<Summary>> {
    let query = Query { namespace: request.namespace.clone(), ..Query::default() };
    Ok(if all { store.list(&query).await? } else { store.latest(&query).await? })
}

/// Returns the labels for the selector: the user's and those of every record.
pub(super) fn selectable_labels(
    labels: &BTreeMap<String, String>,
    name: &str,
    status: Status,
    number: u64,
) -> BTreeMap<String, String> {
    let mut labels = labels.clone();
    labels.insert("name".to_owned(), name.to_owned());
    labels.insert("owner".to_owned(), "helm".to_owned());
    labels.insert("status".to_owned(), status.as_str().to_owned());
    labels.insert("version".to_owned(), number.to_string());
    labels
}

fn sort(found: &mut [Summary], request: &ListRequest) {
    // A fixed order first, so that the stable sort below gives the same output every time.
    found.sort_by(|a, b| (&a.name, &a.namespace, a.number).cmp(&(&b.name, &b.namespace, b.number)));
    if request.by_date {
        found.sort_by_key(|version| version.last_deployed.map(|moment| (moment.unix(), moment.nanosecond())));
    }
    if request.reverse {
        found.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_release::Timestamp;

    #[test]
    fn a_release_that_is_being_moved_is_listed_once() {
        let version = |name: &str, number, first| Summary {
            name: name.to_owned(),
            number,
            first_deployed: Some(Timestamp::from_unix(first, 0)),
            ..Summary::default()
        };
        let mut found = vec![version("moved", 3, 1), version("behind", 3, 1), version("apart", 3, 1)];
        let others =
            vec![version("moved", 3, 1), version("behind", 4, 1), version("apart", 1, 9), version("x", 1, 1)];
        add(&mut found, others, false);
        let listed: Vec<(&str, u64)> =
            found.iter().map(|version| (version.name.as_str(), version.number)).collect();
        assert_eq!(listed, [("moved", 3), ("behind", 4), ("apart", 3), ("apart", 1), ("x", 1)]);
    }
}
