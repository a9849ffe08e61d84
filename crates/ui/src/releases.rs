//! The list of releases, and its changes as they happen.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, SelectAll};
use futures::{FutureExt as _, StreamExt as _};
use pintle::ops::{PageRequest, ReleaseChange, WatchRequest, list_page, watch as watch_releases};
use pintle::release::{Status, Summary};
use pintle::{Error, ErrorKind, Session};
use serde_json::{Value, json};

use crate::access::known_namespaces;
use crate::answer::{Answered, Event, Request};
use crate::app::App;
use crate::error::{Failure, Result};
use crate::json::summary;

/// The largest page.
const MAX_PAGE: u64 = 10_000;
/// How many releases one event has at most.
const MAX_BATCH: usize = 500;

pub(crate) async fn list(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let page = page_request(&request)?;
    match list_page(&session, &page).await {
        Ok(found) => {
            let releases: Vec<Value> = found.releases.iter().map(summary).collect();
            Ok(Answered::json(json!({"releases": releases, "next": found.next, "total": found.total,
                "denied": [], "namespaces": null})))
        }
        Err(error) if is_denied(&error) && page.namespace.is_none() => {
            one_by_one(&app, &session, &request, page).await
        }
        Err(error) => Err(app.failure(&error)),
    }
}

fn is_denied(error: &Error) -> bool {
    error.is_forbidden_store() || error.kind() == ErrorKind::Forbidden
}

fn page_request(request: &Request) -> Result<PageRequest> {
    let query = &request.query;
    let word = |word: &str| {
        Status::parse(word).ok_or_else(|| Failure::input(format!("`{word}` is no status of a release")))
    };
    let limit = query.number("limit")?.unwrap_or(200).clamp(1, MAX_PAGE);
    Ok(PageRequest {
        namespace: query.given("namespace").map(str::to_owned),
        statuses: query.words("status").into_iter().map(word).collect::<Result<Vec<Status>>>()?,
        filter: query.given("filter").map(contains).unwrap_or_default(),
        selector: query.text("selector").to_owned(),
        limit: usize::try_from(limit).unwrap_or(200),
        after: query.given("after").map(str::to_owned),
    })
}

/// A pattern for names that contain a text. Names have no other letters than small ones.
fn contains(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.to_lowercase().chars() {
        if !character.is_alphanumeric() {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// Lists the namespaces that are known, for users who may not list all.
async fn one_by_one(app: &App, session: &Session, request: &Request, page: PageRequest) -> Result<Answered> {
    let (mut releases, mut denied, mut listed, mut total) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for namespace in known_namespaces(app, request) {
        let page = PageRequest { namespace: Some(namespace.clone()), ..page.clone() };
        match list_page(session, &page).await {
            Ok(found) => {
                total += found.total;
                releases.extend(found.releases);
                listed.push(namespace);
            }
            Err(error) if is_denied(&error) => denied.push(namespace),
            Err(error) => return Err(app.failure(&error)),
        }
    }
    let cursor = |release: &Summary| format!("{} {}", release.name, release.namespace);
    releases.sort_by_key(cursor);
    let is_last = releases.len() <= page.limit;
    releases.truncate(page.limit);
    let next = releases.last().filter(|_| !is_last).map(cursor);
    let releases: Vec<Value> = releases.iter().map(summary).collect();
    Ok(Answered::json(json!({"releases": releases, "next": next, "total": total, "denied": denied,
        "namespaces": listed})))
}

type Changes = BoxStream<'static, pintle::Result<ReleaseChange>>;

/// What a stream of changes is at.
struct Watched {
    app: Arc<App>,
    changes: SelectAll<Changes>,
    session: Session,
    /// The namespaces to watch one by one when all together are denied.
    fallback: Vec<String>,
    /// How many of the watches have reported everything.
    synced: usize,
    watches: usize,
    total: usize,
    /// What is sent when the batch is.
    batch: Vec<Value>,
    waiting: Option<Event>,
    has_problem: bool,
    _slot: tokio::sync::OwnedSemaphorePermit,
}

pub(crate) async fn watch(app: Arc<App>, request: Request) -> Result<Answered> {
    let slot = stream_slot(&app)?;
    let session = app.session(&request).await?;
    let namespace = request.query.given("namespace").map(str::to_owned);
    let fallback = match namespace {
        Some(_) => Vec::new(),
        None => known_namespaces(&app, &request),
    };
    let first = changes_of(&session, namespace);
    let watched = Watched {
        changes: SelectAll::from_iter([first]),
        app,
        session,
        fallback,
        synced: 0,
        watches: 1,
        total: 0,
        batch: Vec::new(),
        waiting: None,
        has_problem: false,
        _slot: slot,
    };
    Ok(Answered::Events(stream::unfold(watched, Watched::next).boxed()))
}

/// The right to send a stream of events, while it lives.
pub(crate) fn stream_slot(app: &App) -> Result<tokio::sync::OwnedSemaphorePermit> {
    let slot = Arc::clone(&app.streams).try_acquire_owned();
    slot.map_err(|_| {
        let limit = app.settings.limits.streams;
        Failure::new(429, "too-many", format!("{limit} streams of events are open already"))
            .hint("close other windows of this view")
    })
}

fn changes_of(session: &Session, namespace: Option<String>) -> Changes {
    watch_releases(session, &WatchRequest { namespace, poll_interval: Duration::from_secs(5) })
}

impl Watched {
    async fn next(mut self) -> Option<(Event, Watched)> {
        loop {
            if let Some(event) = self.waiting.take() {
                return Some((event, self));
            }
            // Before everything was reported, releases wait for their batch as long as there are more at once.
            let change = match self.batch.is_empty() {
                true => self.changes.next().await,
                false => match self.changes.next().now_or_never() {
                    Some(change) => change,
                    None => return Some((self.flush(), self)),
                },
            };
            if let Some(event) = self.take(change?) {
                return Some((event, self));
            }
            if self.batch.len() >= MAX_BATCH {
                return Some((self.flush(), self));
            }
        }
    }

    fn is_synced(&self) -> bool {
        self.synced >= self.watches
    }

    fn flush(&mut self) -> Event {
        Event::new("batch", json!({"releases": std::mem::take(&mut self.batch)}))
    }

    /// The event of a change; after the batch, if there is one.
    fn take(&mut self, change: pintle::Result<ReleaseChange>) -> Option<Event> {
        if change.is_ok() && self.has_problem {
            self.has_problem = false;
            self.waiting = Some(Event::new("recovered", json!({})));
        }
        let event = match change {
            Ok(ReleaseChange::Applied(release)) if self.is_synced() => {
                Event::new("applied", summary(&release))
            }
            Ok(ReleaseChange::Applied(release)) => {
                self.total += 1;
                self.batch.push(summary(&release));
                return None;
            }
            Ok(ReleaseChange::Removed { namespace, name }) => {
                Event::new("removed", json!({"namespace": namespace, "name": name}))
            }
            Ok(ReleaseChange::Synced) => {
                self.synced += 1;
                if !self.is_synced() {
                    return None;
                }
                Event::new("synced", json!({"total": self.total}))
            }
            Ok(_) => return None,
            Err(error) => self.problem(&error)?,
        };
        if self.batch.is_empty() {
            return Some(event);
        }
        self.waiting = Some(event);
        Some(self.flush())
    }

    /// Tells of a problem once. A user who may not see all namespaces sees those that are known.
    fn problem(&mut self, error: &Error) -> Option<Event> {
        if is_denied(error) && !self.fallback.is_empty() {
            let namespaces = std::mem::take(&mut self.fallback);
            (self.watches, self.synced) = (namespaces.len(), 0);
            let changes = namespaces.into_iter().map(|name| changes_of(&self.session, Some(name)));
            self.changes = SelectAll::from_iter(changes);
            return None;
        }
        if self.has_problem {
            return None;
        }
        self.has_problem = true;
        Some(Event::new("problem", self.app.failure(error).json()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_no_pattern() {
        assert_eq!(contains("Web-1."), "web\\-1\\.");
        assert_eq!(contains(".*"), "\\.\\*");
    }
}
