//! Operations on repositories, on threads of an async runtime, against a server in this process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pintle::chart::metadata::{Dependency, Timestamp};
use pintle::ops::dependency::BuildTimes;
use pintle::ops::{
    AddDependencyRequest, AddRepositoryRequest, DependencyRequest, IndexRequest, InstallRequest, ListRequest,
    LoginRequest, OutdatedRequest, PullRequest, SearchRequest, Signatures, TemplateRequest,
    UpgradeDependencyRequest, UploadRequest, add_dependency, add_repository, index_directory, install,
    locate_chart, login, outdated, pull_chart, remove_repositories, repositories, search, template,
    update_dependencies, update_repositories, upgrade_dependency, upload_chart,
};
use pintle::release::{ChartSource, MemoryStore};
use pintle::repo::{ChartQuery, Entry, Getter, Proxies, RepositoryPaths};
use pintle::{
    ChartReference, DryRun, Error, ErrorKind, KeyringFile, Progress, Remote, RemoteError, RemoteEvent,
    Reporter, Session, Silent, Verify,
};
use tempfile::TempDir;

/// A repository that is served from a folder.
struct Env {
    folder: TempDir,
    url: String,
}

impl Env {
    async fn new() -> Env {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("served")).unwrap();
        let url = serve(folder.path().join("served"));
        let env = Env { folder, url };
        env.publish("1.0.0").await;
        env
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a version of a chart into the repository.
    async fn publish(&self, version: &str) {
        let chart = self.chart("web", &format!("version: {version}\n"));
        let request = pintle::ops::PackageRequest {
            chart,
            version: None,
            app_version: None,
            destination: self.path("served"),
            epoch: Some(0),
            now: 0,
        };
        pintle::ops::package(&Session::offline(), &request, &mut Silent).unwrap();
        let request = IndexRequest {
            folder: self.path("served"),
            url: self.url.clone(),
            now: Timestamp::from_unix(0, 0),
            ..IndexRequest::default()
        };
        index_directory(&request, &mut Silent).await.unwrap();
    }

    /// A chart in a folder.
    fn chart(&self, name: &str, more: &str) -> PathBuf {
        let chart = self.path(name);
        std::fs::create_dir_all(chart.join("templates")).unwrap();
        let metadata = format!("apiVersion: v2\nname: {name}\n{more}");
        std::fs::write(chart.join("Chart.yaml"), metadata).unwrap();
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {v: '{{ .Chart.Version }}'}\n";
        std::fs::write(chart.join("templates/all.yaml"), template).unwrap();
        chart
    }

    fn remote(&self) -> Remote {
        let paths = RepositoryPaths {
            repository_config: self.path("repositories.yaml"),
            repository_cache: self.path("cache"),
            content_cache: self.path("content"),
        };
        Remote::new(paths, Getter::new(Proxies::default(), Duration::from_secs(120), "test/1.0"))
    }

    async fn add(&self, name: &str) -> pintle::Result<bool> {
        let entry = Entry { name: name.to_owned(), url: self.url.clone(), ..Entry::default() };
        let request = AddRepositoryRequest { entry, ..AddRepositoryRequest::default() };
        add_repository(&self.remote(), &request, &mut Silent).await
    }

    fn reference(&self, reference: &str) -> ChartReference {
        ChartReference {
            remote: self.remote(),
            query: ChartQuery { reference: reference.to_owned(), ..ChartQuery::default() },
            folder: self.folder.path().to_owned(),
            verify: Verify::Never,
        }
    }

    fn dependencies(&self, chart: PathBuf) -> DependencyRequest {
        DependencyRequest {
            chart,
            recursive: false,
            remote: self.remote(),
            skip_refresh: false,
            signatures: Signatures::Ignored,
            times: BuildTimes { now: Timestamp::from_unix(0, 0), epoch: Some(0) },
        }
    }
}

/// Serves the files of a folder, one request for each connection.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let request = lines.next().unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
            let (status, body) = match std::fs::read(folder.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = (&stream).write_all(&[head.as_bytes(), &body].concat());
        }
    });
    url
}

/// Records what happens to repositories.
#[derive(Default)]
struct Events(Vec<RemoteEvent>);

impl Reporter for Events {
    fn report(&mut self, progress: Progress) {
        if let Progress::Remote(event) = progress {
            self.0.push(event);
        }
    }
}

fn remote_error(error: Error) -> RemoteError {
    match error {
        Error::Remote(error) => *error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_added_searched_updated_and_removed() {
    let env = Env::new().await;
    let remote = env.remote();
    assert!(env.add("local").await.unwrap());
    assert!(!env.add("local").await.unwrap(), "it is there with the same settings");
    let entry = Entry { name: "local".to_owned(), url: format!("{}/", env.url), ..Entry::default() };
    let request = AddRepositoryRequest { entry, ..AddRepositoryRequest::default() };
    let error = add_repository(&remote, &request, &mut Silent).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(repositories(&remote, &mut Silent).await.unwrap().len(), 1);

    env.publish("1.1.0").await;
    let mut events = Events::default();
    update_repositories(&remote, &[], &mut events).await.unwrap();
    assert!(
        matches!(&events.0[..], [RemoteEvent::UpdatingRepositories, RemoteEvent::RepositoryUpdated { name }] if name == "local"),
        "{:?}",
        events.0
    );
    let request = SearchRequest { words: vec!["web".to_owned()], ..SearchRequest::default() };
    let hits = search(&remote, &request, &mut Silent).await.unwrap();
    assert_eq!((hits[0].name.as_str(), hits[0].version.as_str()), ("local/web", "1.1.0"));

    let mut events = Events::default();
    let names = ["local".to_owned(), "other".to_owned()];
    let error = remove_repositories(&remote, &names, &mut events).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::NoSuchRepository { name } if name == "other"));
    assert!(matches!(&events.0[..], [RemoteEvent::RepositoryRemoved { name }] if name == "local"));
    let error = search(&remote, &request, &mut Silent).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::NoRepositories));
}

#[tokio::test]
async fn a_missing_password_is_asked_for_before_anything_is_fetched() {
    let env = Env::new().await;
    let entry = Entry {
        name: "local".to_owned(),
        url: "http://127.0.0.1:1".to_owned(),
        username: "me".to_owned(),
        ..Entry::default()
    };
    let request = AddRepositoryRequest { entry, needs_password: true, ..AddRepositoryRequest::default() };
    let error = add_repository(&env.remote(), &request, &mut Silent).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::PasswordNeeded { name } if name == "local"));
    assert!(repositories(&env.remote(), &mut Silent).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_in_a_request_is_fetched_and_its_source_recorded() {
    let env = Env::new().await;
    env.add("local").await.unwrap();
    let request = InstallRequest {
        chart: env.reference("local/web").into(),
        name: "demo".to_owned(),
        namespace: "default".to_owned(),
        dry_run: DryRun::Client,
        ..InstallRequest::default()
    };
    let version = install(&Session::offline(), &request, &mut Silent).await.unwrap();
    let source = ChartSource::of(&version.chart).unwrap();
    assert_eq!(source.repository, env.url);
    assert!(source.url.ends_with("/web-1.0.0.tgz") && source.digest.starts_with("sha256:"), "{source:?}");

    let request = TemplateRequest {
        chart: env.reference("local/web").into(),
        name: "demo".to_owned(),
        ..TemplateRequest::default()
    };
    let rendered = template(&Session::offline(), &request, &mut Silent).await.unwrap();
    assert!(String::from_utf8_lossy(&rendered.text).contains("v: '1.0.0'"));

    let error = locate_chart(&env.reference("nowhere/web"), &mut Silent).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = locate_chart(&env.reference("./nothing"), &mut Silent).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::NoChartAtPath { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_exists_is_the_chart_and_is_verified_as_asked() {
    let env = Env::new().await;
    let located = locate_chart(&env.reference("./served/../web"), &mut Silent).await.unwrap();
    assert_eq!((located.path, located.source), (env.path("web"), None));
    let keyring = KeyringFile { path: env.path("keys"), now: 0 };
    let verify = Verify::Provenance(keyring);
    let reference = ChartReference { verify: verify.clone(), ..env.reference("./web") };
    let error = locate_chart(&reference, &mut Silent).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::UnpackedChart));
    let reference = ChartReference { verify, ..env.reference("served/web-1.0.0.tgz") };
    let error = locate_chart(&reference, &mut Silent).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::NoProvenanceFile { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_is_pulled_packed_and_unpacked() {
    let env = Env::new().await;
    env.add("local").await.unwrap();
    let mut request = PullRequest {
        chart: env.reference("local/web"),
        folder: env.path("pulled"),
        unpack: Some(env.path("unpacked")),
        provenance: true,
    };
    let pulled = pull_chart(&request, &mut Silent).await.unwrap();
    assert_eq!(pulled.path, env.path("unpacked/web"));
    let (chart, _) = pulled.no_provenance.expect("there is no provenance file");
    assert_eq!(chart, "local/web");
    assert!(env.path("unpacked/web/templates/all.yaml").is_file());
    request.unpack = None;
    std::fs::create_dir(env.path("pulled")).unwrap();
    let pulled = pull_chart(&request, &mut Silent).await.unwrap();
    assert_eq!(pulled.path, env.path("pulled/web-1.0.0.tgz"));
    // A signature that is required and not there: nothing but the error is left.
    request.folder = env.path("signed");
    std::fs::create_dir(env.path("signed")).unwrap();
    request.chart.verify = Verify::Provenance(KeyringFile::default());
    let error = pull_chart(&request, &mut Silent).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::NoProvenance { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn dependencies_are_added_updated_and_upgraded() {
    let env = Env::new().await;
    env.add("local").await.unwrap();
    let chart = env.chart("app", "version: 0.1.0\n");
    let target = env.dependencies(chart.clone());
    let request = AddDependencyRequest {
        target: target.clone(),
        query: ChartQuery { reference: "local/web".to_owned(), ..ChartQuery::default() },
        dependency: Dependency::default(),
    };
    let mut events = Events::default();
    add_dependency(&request, &mut events).await.unwrap();
    assert!(
        matches!(&events.0[..], [RemoteEvent::DependencyAdded(it)] if it.version == "^1.0.0" && it.repository == env.url),
        "{:?}",
        events.0
    );
    assert!(chart.join("charts/web-1.0.0.tgz").is_file());
    let error = add_dependency(&request, &mut Silent).await.unwrap_err();
    assert!(matches!(remote_error(error), RemoteError::DependencyNotAdded { name, .. } if name == "web"));

    env.publish("2.0.0").await;
    let query = ChartQuery::default();
    let request = UpgradeDependencyRequest { target: target.clone(), name: "web".to_owned(), query };
    upgrade_dependency(&request, &mut Silent).await.unwrap();
    assert!(chart.join("charts/web-2.0.0.tgz").is_file() && !chart.join("charts/web-1.0.0.tgz").exists());
    assert!(std::fs::read_to_string(chart.join("Chart.yaml")).unwrap().contains("^2.0.0"));
    std::fs::remove_dir_all(chart.join("charts")).unwrap();
    update_dependencies(&target, &mut Silent).await.unwrap();
    assert!(chart.join("charts/web-2.0.0.tgz").is_file());
    let request = UpgradeDependencyRequest { name: "db".to_owned(), ..request };
    let error = remote_error(upgrade_dependency(&request, &mut Silent).await.unwrap_err());
    assert!(matches!(error, RemoteError::NoSuchDependency { known, .. } if known == ["web"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_are_compared_with_the_sources_of_their_charts() {
    let env = Env::new().await;
    env.add("local").await.unwrap();
    let api = pintle::embedded::Embedded::default().open().await.unwrap();
    let cluster = pintle::embedded::cluster(&api, "default");
    let session = Session::new(cluster, Arc::new(MemoryStore::new()));
    let request = InstallRequest {
        chart: env.reference("local/web").into(),
        name: "demo".to_owned(),
        namespace: "default".to_owned(),
        ..InstallRequest::default()
    };
    install(&session, &request, &mut Silent).await.unwrap();
    let request = OutdatedRequest { releases: ListRequest::default(), query: ChartQuery::default() };
    let compared = outdated(&session, &env.remote(), &request, &mut Silent).await.unwrap();
    assert_eq!((compared[0].newest.as_str(), compared[0].is_outdated()), ("1.0.0", false));
    env.publish("1.2.0").await;
    let compared = outdated(&session, &env.remote(), &request, &mut Silent).await.unwrap();
    assert_eq!((compared[0].newest.as_str(), compared[0].is_outdated()), ("1.2.0", true));
    assert_eq!(compared[0].source, env.url);
}

#[tokio::test]
async fn an_archive_that_is_none_is_not_uploaded() {
    let env = Env::new().await;
    let request = UploadRequest {
        archive: env.path("web/Chart.yaml"),
        url: env.url.clone(),
        ..UploadRequest::default()
    };
    let mut events = Events::default();
    assert!(upload_chart(&env.remote(), &request, &mut events).await.is_err());
    assert!(events.0.is_empty(), "nothing is announced: {:?}", events.0);
}

#[tokio::test]
async fn hosts_of_registries_are_checked_before_they_are_asked() {
    let client = Arc::new(pintle::registry::Client::new(pintle::registry::Settings::default()).unwrap());
    for (host, only_hosts) in [("a b", false), ("", false), ("registry.example.com/path", true)] {
        let request = LoginRequest { host: host.to_owned(), only_hosts, ..LoginRequest::default() };
        let error = login(&client, &request, &mut Silent).await.unwrap_err();
        assert!(matches!(remote_error(error), RemoteError::RegistryHost { .. }), "{host}");
    }
}

#[test]
fn paths_are_cleaned_below_a_folder() {
    let cleaned = |path: &str| pintle::ops::absolute(Path::new("/a"), Path::new(path));
    assert_eq!(cleaned("b/./../c"), Path::new("/a/c"));
    assert_eq!(cleaned("/../x//y/"), Path::new("/x/y"));
}
