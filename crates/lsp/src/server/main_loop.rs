//! Serves a connection: documents are changed in order, reads that an edit makes obsolete are answered as such, and charts are
//! rendered on a thread of their own when typing pauses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use super::documents::RUN_TESTS;
use super::worker::{self, Done, Job, STACK, Tested};
use super::{Server, Settings};
use crate::diagnostics::{self, Problems};
use crate::position::Encoding;
use crate::project::{FileId, FileKind, Project};
use crate::structure::{TOKEN_MODIFIERS, TOKEN_TYPES};
use crate::suites::SuiteOutcome;
use crate::uri;

/// How long typing must pause before charts are rendered.
const CHART_PAUSE: Duration = Duration::from_millis(80);
/// Serves standard input and output until the client ends the session or goes away.
///
/// # Errors
/// When the client does not follow the protocol.
pub fn run_stdio(version: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (connection, threads) = Connection::stdio();
    let version = version.to_owned();
    // Templates are followed by recursion.
    let serve = move || run(connection, &version);
    let serving = thread::Builder::new().name("serve".to_owned()).stack_size(STACK).spawn(serve)?;
    let outcome = serving.join().unwrap_or_else(|_| Err("the server has a bug and has ended".into()));
    // The threads end when the connection is gone.
    let _ = threads.join();
    outcome
}

/// Serves a connection until the client ends the session or goes away.
///
/// # Errors
/// When the client does not follow the protocol.
pub fn run(connection: Connection, version: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (id, params) = connection.initialize_start()?;
    let encoding = encoding(&params);
    let settings = Settings::read(&params["initializationOptions"]);
    let info = json!({
        "capabilities": capabilities(encoding, &settings),
        "serverInfo": {"name": "pintle", "version": version},
    });
    connection.initialize_finish(id, info)?;
    let mut server = Server::new(folders(&params), encoding);
    server.configure(settings);
    let workspace = &params["capabilities"]["workspace"];
    let watches = workspace["didChangeWatchedFiles"]["dynamicRegistration"] == json!(true);
    let refreshes = |feature: &str| workspace[feature]["refreshSupport"] == json!(true);
    let (jobs, results) = worker::start()?;
    let mut session = Session {
        connection,
        server,
        jobs,
        results,
        waiting: VecDeque::new(),
        shown: BTreeMap::new(),
        chart: BTreeMap::new(),
        due: None,
        running: BTreeSet::new(),
        testing: 0,
        refreshes_hints: refreshes("inlayHint"),
        refreshes_lenses: refreshes("codeLens"),
        refreshes_contents: workspace["textDocumentContent"].is_object(),
        asked: 0,
        ending: false,
    };
    if watches {
        session.register_watchers();
    }
    session.serve();
    Ok(())
}

fn encoding(params: &Value) -> Encoding {
    let offered = params["capabilities"]["general"]["positionEncodings"].as_array();
    let offers_bytes = offered.is_some_and(|list| list.iter().any(|name| name == "utf-8"));
    if offers_bytes { Encoding::Utf8 } else { Encoding::Utf16 }
}

fn folders(params: &Value) -> Vec<PathBuf> {
    let mut uris: Vec<&str> = Vec::new();
    for folder in params["workspaceFolders"].as_array().into_iter().flatten() {
        uris.extend(folder["uri"].as_str());
    }
    if uris.is_empty() {
        uris.extend(params["rootUri"].as_str());
    }
    uris.into_iter().filter_map(uri::to_path).collect()
}

fn capabilities(encoding: Encoding, settings: &Settings) -> Value {
    let mut capabilities = json!({
        "positionEncoding": if encoding == Encoding::Utf8 { "utf-8" } else { "utf-16" },
        "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
        "completionProvider": {"triggerCharacters": [".", "$", "\"", "/"]},
        "hoverProvider": true,
        "definitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "renameProvider": {"prepareProvider": true},
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "foldingRangeProvider": true,
        "selectionRangeProvider": true,
        "signatureHelpProvider": {"triggerCharacters": [" ", "("]},
        "inlayHintProvider": true,
        "documentLinkProvider": {"resolveProvider": false},
        "codeLensProvider": {"resolveProvider": true},
        "callHierarchyProvider": true,
        "executeCommandProvider": {"commands": [RUN_TESTS]},
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor.extract", "refactor.rewrite"]},
        "semanticTokensProvider": {
            "legend": {"tokenTypes": TOKEN_TYPES, "tokenModifiers": TOKEN_MODIFIERS},
            "full": {"delta": true},
            "range": true,
        },
        "workspace": {
            "workspaceFolders": {"supported": true, "changeNotifications": true},
            "textDocumentContent": {"schemes": ["pintle-chart", "pintle-rendered"]},
        },
    });
    if settings.formatting {
        capabilities["documentFormattingProvider"] = json!(true);
    }
    capabilities
}

struct Session {
    connection: Connection,
    server: Server,
    jobs: mpsc::Sender<Job>,
    results: mpsc::Receiver<Done>,
    /// Messages that have arrived and are not handled yet.
    waiting: VecDeque<Message>,
    /// The diagnostics that the client has, by address.
    shown: BTreeMap<String, Vec<Value>>,
    /// What is wrong with charts, by chart and address, as of their last render.
    chart: BTreeMap<PathBuf, BTreeMap<String, Vec<Value>>>,
    /// When charts are rendered again.
    due: Option<Instant>,
    /// Charts that are being rendered.
    running: BTreeSet<PathBuf>,
    /// The number of suites that are running.
    testing: usize,
    /// What the client asks for again when it is told to.
    refreshes_hints: bool,
    refreshes_lenses: bool,
    refreshes_contents: bool,
    /// The number of requests that were sent to the client.
    asked: usize,
    /// Whether the client has asked for the end.
    ending: bool,
}

impl Session {
    fn serve(&mut self) {
        loop {
            self.collect();
            if let Some(message) = self.waiting.pop_front() {
                if self.handle(message) {
                    return;
                }
                continue;
            }
            self.show_results();
            self.render_if_due();
            let pause = match self.due {
                Some(due) => due.saturating_duration_since(Instant::now()),
                // Results of the other thread are looked for while it works.
                None if !self.running.is_empty() || self.testing > 0 => Duration::from_millis(5),
                None => Duration::from_secs(3600),
            };
            match self.connection.receiver.recv_timeout(pause) {
                Ok(message) => self.waiting.push_back(message),
                Err(error) if error.is_timeout() => {}
                // The client is gone.
                Err(_) => return,
            }
        }
    }

    /// Takes all messages that have arrived, so that cancellations and edits are seen before the requests that they end.
    fn collect(&mut self) {
        while let Ok(message) = self.connection.receiver.try_recv() {
            if let Message::Notification(notification) = &message
                && notification.method == "$/cancelRequest"
            {
                self.cancel(&notification.params["id"]);
                continue;
            }
            self.waiting.push_back(message);
        }
    }

    fn cancel(&mut self, id: &Value) {
        let matches = |request: &Request| serde_json::to_value(&request.id).is_ok_and(|known| known == *id);
        let at = self
            .waiting
            .iter()
            .position(|message| matches!(message, Message::Request(request) if matches(request)));
        if let Some(Message::Request(request)) = at.and_then(|at| self.waiting.remove(at)) {
            self.fail(request.id, ErrorCode::RequestCanceled as i32, "the request was cancelled");
        }
    }

    fn send(&self, message: impl Into<Message>) {
        // If the client is gone, the loop notices.
        let _ = self.connection.sender.send(message.into());
    }

    fn fail(&self, id: RequestId, code: i32, message: &str) {
        self.send(Response::new_err(id, code, message.to_owned()));
    }

    /// Handles a message. Returns whether the session is over.
    fn handle(&mut self, message: Message) -> bool {
        match message {
            Message::Request(request) => {
                if request.method == "shutdown" {
                    self.ending = true;
                    self.send(Response::new_ok(request.id, Value::Null));
                } else if self.ending {
                    self.fail(request.id, ErrorCode::InvalidRequest as i32, "the session is ending");
                } else {
                    self.request(request);
                }
            }
            Message::Notification(notification) => {
                if notification.method == "exit" {
                    return true;
                }
                self.notification(&notification);
            }
            Message::Response(_) => {}
        }
        false
    }

    fn request(&mut self, request: Request) {
        // An edit of the document is waiting, so the answer would be about a text that is gone.
        let uri = request.params["textDocument"]["uri"].as_str();
        let edited = self.waiting.iter().any(|message| {
            matches!(message, Message::Notification(edit) if edit.method == "textDocument/didChange"
                && edit.params["textDocument"]["uri"].as_str() == uri && uri.is_some())
        });
        if edited {
            return self.fail(request.id, ErrorCode::ContentModified as i32, "the document has changed");
        }
        if request.method == "workspace/executeCommand" {
            return self.command(request);
        }
        let server = &mut self.server;
        let answer =
            std::panic::catch_unwind(AssertUnwindSafe(|| server.answer(&request.method, &request.params)));
        match answer {
            Ok(Ok(value)) => self.send(Response::new_ok(request.id, value)),
            Ok(Err(failure)) => self.fail(request.id, failure.code, &failure.message),
            Err(_) => self.fail(
                request.id,
                ErrorCode::InternalError as i32,
                "the server has a bug: this request made it panic",
            ),
        }
        // Another scenario was chosen.
        if !self.server.outdated.is_empty() {
            self.due = self.due.or(Some(Instant::now() + CHART_PAUSE));
        }
    }

    fn notification(&mut self, notification: &Notification) {
        let document = &notification.params["textDocument"];
        let uri = document["uri"].as_str().map(uri::normalized).unwrap_or_default();
        let version = document["version"].as_i64().unwrap_or(0);
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or_default().to_owned();
                self.server.open(&uri, version, text);
                self.show_text(&uri);
            }
            "textDocument/didChange" => {
                let changes = notification.params["contentChanges"].as_array().cloned().unwrap_or_default();
                self.server.change(&uri, version, &changes);
                self.show_text(&uri);
            }
            "textDocument/didSave" => self.server.file_changed(&uri),
            "textDocument/didClose" => self.server.close(&uri),
            "workspace/didChangeWatchedFiles" => {
                for change in notification.params["changes"].as_array().into_iter().flatten() {
                    self.server.file_changed(change["uri"].as_str().unwrap_or_default());
                }
            }
            "workspace/didChangeWorkspaceFolders" => self.folders_changed(&notification.params["event"]),
            "workspace/didChangeConfiguration" => {
                self.server.configure(Settings::read(&notification.params["settings"]));
            }
            _ => return,
        }
        if !self.server.outdated.is_empty() {
            self.due = Some(Instant::now() + CHART_PAUSE);
        }
    }

    fn folders_changed(&mut self, event: &Value) {
        let paths = |key: &str| -> Vec<PathBuf> {
            let folders = event[key].as_array().into_iter().flatten();
            folders.filter_map(|folder| uri::to_path(folder["uri"].as_str()?)).collect()
        };
        let removed = paths("removed");
        self.server.roots.retain(|root| !removed.contains(root));
        self.server.roots.extend(paths("added"));
    }

    fn register_watchers(&mut self) {
        let watchers: Vec<Value> = [
            "**/Chart.yaml",
            "**/Chart.lock",
            "**/*.yaml",
            "**/*.yml",
            "**/*.tpl",
            "**/*.txt",
            "**/*.tgz",
            "**/values.schema.json",
            "**/.helmignore",
        ]
        .iter()
        .map(|pattern| json!({"globPattern": pattern}))
        .collect();
        let registration = json!({
            "id": "files", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers},
        });
        let request = Request::new(
            RequestId::from("register-files".to_owned()),
            "client/registerCapability".to_owned(),
            json!({"registrations": [registration]}),
        );
        self.send(request);
    }

    // Diagnostics.

    /// Shows what is wrong with the text of a document at once, with what is known about its chart.
    fn show_text(&mut self, uri: &str) {
        for (root, file) in self.server.places_of(uri).into_iter().take(1) {
            let Some(project) = self.server.project(&root) else { continue };
            let mut problems = self.text_problems(&project, file);
            problems
                .extend(self.chart.get(&root).and_then(|files| files.get(uri)).cloned().unwrap_or_default());
            self.publish(uri, problems);
        }
    }

    fn text_problems(&self, project: &Project, file: FileId) -> Vec<Value> {
        let problems = diagnostics::of_text(project, file);
        super::json::problems_json(project, file, &problems, self.server.encoding)
    }

    fn publish(&mut self, uri: &str, problems: Vec<Value>) {
        if self.shown.get(uri).map_or(problems.is_empty(), |known| *known == problems) {
            return;
        }
        let version = self.server.documents.get(uri).map(|document| document.version);
        let mut params = json!({"uri": uri, "diagnostics": problems});
        if let Some(version) = version {
            params["version"] = json!(version);
        }
        self.send(Notification::new("textDocument/publishDiagnostics".to_owned(), params));
        self.shown.insert(uri.to_owned(), problems);
    }

    /// Has charts rendered that have changed, once typing pauses. Only those with open documents matter.
    fn render_if_due(&mut self) {
        if self.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        self.due = None;
        for root in std::mem::take(&mut self.server.outdated) {
            let Some(project) = self.server.project(&root) else { continue };
            let open = self.server.documents.keys().any(|uri| project.by_uri.contains_key(uri));
            if !open {
                self.clear(&root);
                continue;
            }
            let scenario = self.server.chosen_scenario(&root, &project);
            if self.jobs.send(Job::Check { root: root.clone(), project, scenario }).is_ok() {
                self.running.insert(root);
            }
        }
    }

    fn clear(&mut self, root: &PathBuf) {
        // Nobody looks at the chart any more.
        self.server.deeds.remove(root);
        self.server
            .previews
            .retain(|uri, _| uri::parse_rendered(uri).is_none_or(|(known, ..)| known != *root));
        let files = self.chart.remove(root).unwrap_or_default();
        let mut uris: BTreeSet<String> = files.into_keys().collect();
        // Syntax errors of files of the chart, which are no longer looked at.
        uris.extend(
            self.shown
                .keys()
                .filter(|uri| uri::to_path(uri).is_some_and(|path| path.starts_with(root)))
                .cloned(),
        );
        for uri in uris {
            self.publish(&uri, Vec::new());
        }
    }

    fn show_results(&mut self) {
        while let Ok(done) = self.results.try_recv() {
            match done {
                Done::Checked { root, project, problems } => self.show_problems(root, &project, &problems),
                Done::Rendered { root, project, deeds } => {
                    self.running.remove(&root);
                    self.server.deeds.insert(root.clone(), (project, deeds));
                    if self.refreshes_hints {
                        self.ask_client("workspace/inlayHint/refresh", Value::Null);
                    }
                    self.refresh_previews(&root);
                }
                Done::Tested { id, root, project, file, outcome } => {
                    self.testing -= 1;
                    let uri = project.file(file).uri.clone();
                    self.send(Response::new_ok(id, outcome_json(&outcome)));
                    self.server.tested.insert(uri, Tested { root, outcome });
                    if self.refreshes_lenses {
                        self.ask_client("workspace/codeLens/refresh", Value::Null);
                    }
                }
            }
        }
    }

    fn show_problems(&mut self, root: PathBuf, project: &Arc<Project>, problems: &Problems) {
        let current = self.server.project(&root);
        if current.is_none_or(|current| !Arc::ptr_eq(&current, project)) {
            // The chart has changed; a newer result is on the way, unless nothing of it is open any more.
            return;
        }
        let files = self.server.problems_by_uri(project, problems);
        let before = self.chart.insert(root, files.clone()).unwrap_or_default();
        let mut all: BTreeMap<String, Vec<Value>> = before.into_keys().map(|uri| (uri, Vec::new())).collect();
        for (id, file) in project.files.iter().enumerate().filter(|(_, file)| file.path.is_some()) {
            let text = self.text_problems(project, id);
            if !text.is_empty() || self.shown.contains_key(&file.uri) {
                all.insert(file.uri.clone(), text);
            }
        }
        for (uri, problems) in files {
            // Files of archives cannot be changed, so what is wrong with them is of no use here.
            if uri.starts_with("file:") {
                all.entry(uri).or_default().extend(problems);
            }
        }
        for (uri, problems) in all {
            self.publish(&uri, problems);
        }
    }

    // Requests to the client, and what takes longer.

    /// Asks the client to do something. Its answer says nothing.
    fn ask_client(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let id = RequestId::from(format!("pintle-{}", self.asked));
        self.send(Request::new(id, method.to_owned(), params));
    }

    /// Tells the client that rendered documents of a chart may have changed.
    fn refresh_previews(&mut self, root: &PathBuf) {
        let of_chart = |uri: &&String| uri::parse_rendered(uri).is_some_and(|(known, ..)| known == *root);
        let uris: Vec<String> = self.server.previews.keys().filter(of_chart).cloned().collect();
        for uri in uris {
            if self.refreshes_contents {
                self.ask_client("workspace/textDocumentContent/refresh", json!({"uri": uri}));
            } else {
                self.send(Notification::new("pintle/previewChanged".to_owned(), json!({"uri": uri})));
            }
        }
    }

    fn command(&mut self, request: Request) {
        let invalid = ErrorCode::InvalidParams as i32;
        let uri = request.params["arguments"][0].as_str().map(uri::normalized);
        let (RUN_TESTS, Some(uri)) = (request.params["command"].as_str().unwrap_or_default(), uri) else {
            return self.fail(request.id, invalid, "the command is not known, or has no document");
        };
        let place = self.server.places_of(&uri).into_iter().next();
        let project = place.as_ref().and_then(|(root, _)| self.server.project(root));
        let (Some((root, file)), Some(project)) = (place, project) else {
            return self.fail(request.id, invalid, "the document is in no chart of the workspace");
        };
        if project.file(file).kind != FileKind::Suite {
            return self.fail(request.id, invalid, "the document is no suite of tests");
        }
        if self.jobs.send(Job::Test { id: request.id, root, project, file }).is_ok() {
            self.testing += 1;
        }
    }
}

/// How tests ended, as JSON.
fn outcome_json(outcome: &SuiteOutcome) -> Value {
    let test = |test: &crate::suites::TestOutcome| json!({"name": test.name, "passed": test.passed, "skipped": test.skipped, "message": test.message});
    json!({
        "summary": super::documents::summary(outcome),
        "tests": outcome.tests.iter().map(test).collect::<Vec<_>>(),
        "error": outcome.error,
    })
}
