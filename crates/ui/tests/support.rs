//! A server with the embedded cluster behind it, and a client that sends what it is told to.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use pintle::cluster::store::{HelmSecrets, NativeStore};
use pintle::ops::{InstallRequest, install};
use pintle::{OfflineSession, Session, Silent, ValuesLayer, embedded};
use pintle_ui::{Authentication, Clusters, Context, Contexts, Limits, Server, Settings, Viewer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a test waits for an answer before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The embedded cluster as the only context.
pub(crate) struct OneCluster(pub(crate) Session);

impl Clusters for OneCluster {
    fn contexts(&self) -> Contexts {
        let context = Context { name: "embedded".to_owned(), ..Context::default() };
        Contexts { current: context.name.clone(), namespace: "default".to_owned(), all: vec![context] }
    }

    fn connect(&self, _: &str, viewer: Option<&Viewer>) -> BoxFuture<'static, pintle::Result<Session>> {
        let mut session = self.0.clone();
        let viewer = viewer.cloned();
        Box::pin(async move {
            if let Some(viewer) = viewer {
                session.cluster = session.cluster.impersonate(&viewer.name, &viewer.groups)?;
            }
            Ok(session)
        })
    }

    fn flags(&self, _: &str) -> Vec<String> {
        vec!["--cluster".to_owned(), "embedded".to_owned()]
    }
}

/// A running server.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) session: Session,
    /// The token of the link.
    pub(crate) token: String,
    pub(crate) cookie: String,
    pub(crate) folder: tempfile::TempDir,
    end: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

pub(crate) async fn session() -> Session {
    let api = embedded::Embedded::default().open().await.unwrap();
    let cluster = embedded::cluster(&api, "default");
    let session = Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster.clone())));
    pintle::ops::init(&session).await.unwrap();
    session.with_other_stores(vec![Arc::new(HelmSecrets::new(cluster))])
}

pub(crate) fn settings(session: &Session) -> Settings {
    Settings {
        clusters: Arc::new(OneCluster(session.clone())),
        remote: None,
        offline: OfflineSession::default(),
        write: true,
        authentication: Authentication::Link,
        hosts: Vec::new(),
        tls: None,
        local_charts: true,
        program: "pintle".to_owned(),
        version: "0.0.0".to_owned(),
        hints: Arc::new(|_| None),
        limits: Limits::default(),
    }
}

impl Running {
    /// A server that may write, with a browser that is signed in.
    pub(crate) async fn start() -> Running {
        Running::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Running {
        let session = session().await;
        Running::of(session, change).await
    }

    pub(crate) async fn of(session: Session, change: impl FnOnce(&mut Settings)) -> Running {
        let mut settings = settings(&session);
        change(&mut settings);
        let is_link = matches!(settings.authentication, Authentication::Link);
        let server = Server::bind(([127, 0, 0, 1], 0).into(), settings).await.unwrap();
        let address = server.address();
        let token = server.url().split_once("?t=").map(|(_, token)| token.to_owned()).unwrap_or_default();
        let (end, ended) = oneshot::channel();
        let served = tokio::spawn(server.serve(async {
            let _ = ended.await;
        }));
        let folder = tempfile::tempdir().unwrap();
        let mut running =
            Running { address, session, token, cookie: String::new(), folder, end: Some(end), served };
        if is_link {
            let opened = running.send("GET", &format!("/?t={}", running.token), &[], "").await;
            let cookie = opened.header("set-cookie").unwrap();
            running.cookie = cookie.split(';').next().unwrap().to_owned();
        }
        running
    }

    /// Ends the server as Ctrl-C does.
    pub(crate) async fn stop(mut self) {
        let _ = self.end.take().unwrap().send(());
        tokio::time::timeout(PATIENCE, &mut self.served).await.unwrap().unwrap().unwrap();
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Sends a request with the headers that are given, and `Host`.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            write!(text, "Host: {}\r\n", self.host()).unwrap();
        }
        for (name, value) in headers {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        if !body.is_empty() {
            write!(text, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        Answer::read(&answer)
    }

    /// What the page sends.
    pub(crate) async fn page(&self, method: &str, path: &str, body: &Value) -> Answer {
        let origin = format!("http://{}", self.host());
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let mut headers = vec![("Cookie", self.cookie.as_str()), ("Sec-Fetch-Site", "same-origin")];
        if method != "GET" {
            headers.extend([("Origin", origin.as_str()), ("Content-Type", "application/json")]);
        }
        self.send(method, path, &headers, &text).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self.page("GET", path, &Value::Null).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.page("POST", path, body).await
    }

    /// Opens a stream of events.
    pub(crate) async fn events(&self, path: &str) -> Events {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nSec-Fetch-Site: same-origin\r\n\r\n",
            self.host(),
            self.cookie
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Events(BufReader::new(stream))
    }

    /// A chart with a Deployment, a Secret and a hook.
    pub(crate) fn chart(&self) -> PathBuf {
        let folder = self.folder.path().join("web");
        if folder.exists() {
            return folder;
        }
        std::fs::create_dir_all(folder.join("templates")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write(
            "Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: \"2.0\"\ndescription: A web server\n",
        );
        write("values.yaml", "replicas: 1\nimage: nginx:1.27\nauth:\n  password: \"\"\n  user: app\n");
        write(
            "templates/web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  \
             replicas: {{ .Values.replicas }}\n  selector:\n    matchLabels: {app: web}\n  template:\n    metadata:\n      \
             labels: {app: web}\n    spec:\n      containers:\n      - name: web\n        image: {{ .Values.image }}\n",
        );
        write(
            "templates/secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData:\n  \
             key: {{ .Values.auth.password | quote }}\n",
        );
        write("templates/NOTES.txt", "Release {{ .Release.Name }} has {{ .Values.replicas }} replicas.\n");
        folder
    }

    /// Installs the chart with values.
    pub(crate) async fn install(&self, namespace: &str, name: &str, values: &str) {
        let content = values.as_bytes().to_vec();
        let request = InstallRequest {
            chart: self.chart().into(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            create_namespace: true,
            values: vec![ValuesLayer::Bytes { name: "values".to_owned(), content }],
            ..InstallRequest::default()
        };
        install(&self.session, &request, &mut Silent).await.unwrap();
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    fn read(bytes: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Answer { status: status.unwrap_or(0), headers, body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The kind of an error.
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

/// A stream of events. Its chunks are ignored: what is not a field of an event is skipped.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// The next event, with its data.
    pub(crate) async fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(PATIENCE, self.0.read_line(&mut line)).await.unwrap().unwrap();
            assert!(read > 0, "the stream has ended");
            let line = line.trim_end();
            if let Some(event) = line.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(data).unwrap());
            }
        }
    }

    /// The data of the next event of a name.
    pub(crate) async fn until(&mut self, wanted: &str) -> Value {
        loop {
            let (name, data) = self.next().await;
            if name == wanted {
                return data;
            }
        }
    }
}
