//! Charts of repositories and registries, and which releases have a newer one.

use std::path::PathBuf;
use std::sync::Arc;

use pintle::ops::{
    self, AddRepositoryRequest, ListRequest, OutdatedRequest, SearchRequest, add_repository as add,
    locate_chart, remove_repositories, repositories as known_repositories, search as search_charts,
    update_repositories as update,
};
use pintle::repo::{Access, ChartQuery, Entry};
use pintle::{ChartRef, ChartReference, LocatedChart, Progress, RemoteEvent, Silent, Verify};
use serde_json::{Value, json};

use crate::answer::{Answered, Request};
use crate::app::App;
use crate::command_line::command;
use crate::error::{Failure, Result};
use crate::{json as shown, query};

/// The most charts of an answer.
const MAX_CHARTS: usize = 500;

pub(crate) async fn repositories(app: Arc<App>, _: Request) -> Result<Answered> {
    let entries = known_repositories(app.remote()?, &mut Silent).await;
    let entries = entries.map_err(|error| app.failure(&error))?;
    // Addresses may have a password in them.
    let shown = |entry: &Entry| json!({"name": entry.name, "url": pintle_tree::redact::redacted(&entry.url)});
    Ok(Answered::json(json!({"repositories": entries.iter().map(shown).collect::<Vec<Value>>()})))
}

pub(crate) async fn add_repository(app: Arc<App>, request: Request) -> Result<Answered> {
    app.check_local("the list of repositories")?;
    let body = query::body(&request.body)?;
    let (name, url) = (query::text(&body, "name")?.to_owned(), query::text(&body, "url")?.to_owned());
    let entry = Entry { name, url, ..Entry::default() };
    let added = AddRepositoryRequest { entry: entry.clone(), ..AddRepositoryRequest::default() };
    add(app.remote()?, &added, &mut Silent).await.map_err(|error| app.failure(&error))?;
    let context = app.context(&request)?;
    let command = command(&app, &context, &["repo", "add", &entry.name, &entry.url]);
    Ok(Answered::Json(201, json!({"name": entry.name, "url": entry.url, "command": command})))
}

pub(crate) async fn remove_repository(app: Arc<App>, request: Request) -> Result<Answered> {
    app.check_local("the list of repositories")?;
    let names = [request.part(0).to_owned()];
    let removed = remove_repositories(app.remote()?, &names, &mut Silent).await;
    removed.map_err(|error| app.failure(&error))?;
    Ok(Answered::Nothing)
}

pub(crate) async fn update_repositories(app: Arc<App>, request: Request) -> Result<Answered> {
    app.check_local("the list of repositories")?;
    let body = query::body(&request.body)?;
    let names = body.get("names").and_then(Value::as_array).cloned().unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let mut failed = Vec::new();
    let mut reporter = |progress: Progress| {
        if let Progress::Remote(RemoteEvent::RepositoryNotUpdated { name, error, .. }) = progress {
            failed.push(json!({"name": name, "message": error.to_string()}));
        }
    };
    let outcome = update(app.remote()?, &names, &mut reporter).await;
    if let Err(error) = outcome
        && failed.is_empty()
    {
        return Err(app.failure(&error));
    }
    Ok(Answered::json(json!({"failed": failed})))
}

pub(crate) async fn search(app: Arc<App>, request: Request) -> Result<Answered> {
    let words = request.query.text("query").split_whitespace().map(str::to_owned).collect();
    let wanted = SearchRequest { words, all_versions: request.query.on("all"), ..SearchRequest::default() };
    let found = search_charts(app.remote()?, &wanted, &mut Silent).await;
    let found = match found {
        Ok(found) => found,
        // No repositories is no charts.
        Err(error) if is_empty_list(&error) => Vec::new(),
        Err(error) => return Err(app.failure(&error)),
    };
    let charts: Vec<Value> = found
        .iter()
        .take(MAX_CHARTS)
        .map(|hit| {
            json!({"name": hit.name, "version": hit.version, "appVersion": hit.app_version,
                "description": hit.description, "isLibrary": hit.is_library})
        })
        .collect();
    Ok(Answered::json(json!({"charts": charts, "truncated": found.len() > MAX_CHARTS})))
}

fn is_empty_list(error: &pintle::Error) -> bool {
    let pintle::Error::Remote(error) = error else { return false };
    matches!(**error, pintle::RemoteError::NoRepositories)
}

/// The versions that the repositories have of a chart.
pub(crate) async fn versions(app: Arc<App>, request: Request) -> Result<Answered> {
    let reference = request.query.text("reference");
    if reference.starts_with("oci://") {
        return Err(Failure::input("tags of registries are not listed").hint("name the version"));
    }
    let wanted =
        SearchRequest { words: vec![reference.to_owned()], all_versions: true, ..SearchRequest::default() };
    let found =
        search_charts(app.remote()?, &wanted, &mut Silent).await.map_err(|error| app.failure(&error))?;
    let versions = found.iter().filter(|hit| hit.name == reference);
    let versions = versions.map(|hit| json!({"version": hit.version, "appVersion": hit.app_version}));
    Ok(Answered::json(json!({"versions": versions.collect::<Vec<Value>>()})))
}

/// What a request says about a chart that is not that of a release.
pub(crate) struct GivenChart<'r> {
    pub(crate) reference: &'r str,
    pub(crate) version: &'r str,
    pub(crate) repository: &'r str,
    pub(crate) path: &'r str,
}

/// The chart that is given. Addresses and paths are for those alone who could use them without the server.
pub(crate) async fn given(app: &App, chart: &GivenChart<'_>) -> Result<ChartRef> {
    if !chart.path.is_empty() {
        app.check_local("charts on the disk")?;
        let path = PathBuf::from(chart.path);
        if !path.is_absolute() {
            return Err(Failure::input(format!("`{}` is not an absolute path", chart.path)));
        }
        return Ok(ChartRef::from(path));
    }
    if chart.reference.is_empty() {
        return Err(Failure::input("no chart is named"));
    }
    let is_url = |text: &str| text.contains("://");
    let is_path =
        |text: &str| text.starts_with(['.', '/', '~']) || text.contains('\\') || text.contains("..");
    if is_path(chart.reference) {
        let text = format!("`{}` is no chart of a repository or registry", chart.reference);
        return Err(Failure::input(text).hint("for a chart on the disk, give its absolute path as `path`"));
    }
    if is_url(chart.reference) || !chart.repository.is_empty() {
        app.check_local("the network")?;
    }
    let located = located(app, chart).await?;
    Ok(ChartRef::from(located))
}

async fn located(app: &App, chart: &GivenChart<'_>) -> Result<LocatedChart> {
    let query = ChartQuery {
        reference: chart.reference.to_owned(),
        version: chart.version.to_owned(),
        repo_url: chart.repository.to_owned(),
        access: Access::default(),
    };
    let key = format!("{} {} {}", chart.reference, chart.version, chart.repository);
    if let Some(located) = app.plans.charts.get(&key).filter(|located: &LocatedChart| located.path.exists()) {
        return Ok(located);
    }
    // Not the folder of the program: a name must not find a folder there.
    let folder = app.remote()?.paths.content_cache.join("none");
    let reference = ChartReference { remote: app.remote()?.clone(), query, folder, verify: Verify::Never };
    let located = locate_chart(&reference, &mut Silent).await.map_err(|error| app.failure(&error))?;
    // Without a version the newest is meant, which changes.
    if !chart.version.is_empty() {
        app.plans.charts.insert(key, located.clone());
    }
    Ok(located)
}

pub(crate) async fn show(app: Arc<App>, request: Request) -> Result<Answered> {
    let query = &request.query;
    let chart = GivenChart {
        reference: query.text("reference"),
        version: query.text("version"),
        repository: query.text("repository"),
        path: query.text("path"),
    };
    let found = given(&app, &chart).await?;
    let source = match &found {
        ChartRef::Located(located) => located.source.as_ref().map(shown::source),
        _ => None,
    };
    let read = ops::show(&found, &mut Silent).await.map_err(|error| app.failure(&error))?;
    let metadata = pintle_yaml::read_map(&read.chart).unwrap_or_default();
    let field = |name: &str| metadata.get(name).map(shown::node).unwrap_or(Value::Null);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let context = app.context(&request)?;
    let named = if chart.path.is_empty() { chart.reference } else { chart.path };
    let mut words = vec!["show", "all", named];
    for (flag, value) in [("--version", chart.version), ("--repo", chart.repository)] {
        if !value.is_empty() {
            words.extend([flag, value]);
        }
    }
    Ok(Answered::json(json!({
        "name": field("name"),
        "version": field("version"),
        "appVersion": field("appVersion"),
        "description": field("description"),
        "home": field("home"),
        "icon": field("icon"),
        "deprecated": field("deprecated"),
        "dependencies": field("dependencies"),
        "maintainers": field("maintainers"),
        "keywords": field("keywords"),
        "annotations": field("annotations"),
        "readme": read.readme.as_deref().map(text),
        "values": read.values.as_deref().map(text),
        "crds": read.crds.len(),
        "isLibrary": read.is_library,
        "source": source,
        "command": command(&app, &context, &words),
    })))
}

pub(crate) async fn outdated(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let namespace = request.query.given("namespace").map(str::to_owned);
    let wanted = OutdatedRequest {
        releases: ListRequest { namespace, ..ListRequest::default() },
        ..OutdatedRequest::default()
    };
    let compared = ops::outdated(&session, app.remote()?, &wanted, &mut Silent).await;
    let compared = compared.map_err(|error| app.failure(&error))?;
    let releases: Vec<Value> = compared
        .iter()
        .map(|compared| {
            let release = &compared.release;
            json!({"namespace": release.namespace, "name": release.name, "chart": release.chart_name,
                "version": release.chart_version, "newest": compared.newest, "outdated": compared.is_outdated(),
                "source": compared.source, "problem": compared.problem})
        })
        .collect();
    Ok(Answered::json(json!({"releases": releases})))
}
