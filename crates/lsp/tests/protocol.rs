//! Messages of a session, in the order in which clients send them.

use std::thread;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use pintle_lsp::run;
use serde_json::{Value, json};

use super::support::{Workspace, web};

struct Client {
    connection: Connection,
    next: i32,
    server: Option<thread::JoinHandle<()>>,
}

impl Client {
    fn start(workspace: &Workspace) -> (Self, Value) {
        let (server, connection) = Connection::memory();
        let server = thread::spawn(move || run(server, "test").expect("a session"));
        let mut client = Client { connection, next: 0, server: Some(server) };
        let folder = json!({"uri": workspace.uri(""), "name": "test"});
        let answer = client.request("initialize", json!({"capabilities": {}, "workspaceFolders": [folder]}));
        client.notify("initialized", json!({}));
        (client, answer.expect("capabilities"))
    }

    fn notify(&self, method: &str, params: Value) {
        let message = Notification::new(method.to_owned(), params);
        self.connection.sender.send(message.into()).expect("the server is there");
    }

    fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        let message = Request::new(id.clone(), method.to_owned(), params);
        self.connection.sender.send(message.into()).expect("the server is there");
        id
    }

    fn receive(&self) -> Message {
        self.connection.receiver.recv_timeout(Duration::from_secs(120)).expect("a message in time")
    }

    fn response(&self, id: &RequestId) -> Response {
        loop {
            if let Message::Response(response) = self.receive()
                && response.id == *id
            {
                return response;
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, i32> {
        let id = self.send(method, params);
        let response = serde_json::to_value(self.response(&id)).expect("a response is JSON");
        match response.get("error") {
            Some(error) => Err(error["code"].as_i64().expect("a code") as i32),
            None => Ok(response["result"].clone()),
        }
    }

    /// The next diagnostics of a document that satisfy a condition.
    fn diagnostics(&self, uri: &str, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        loop {
            if let Message::Notification(message) = self.receive()
                && message.method == "textDocument/publishDiagnostics"
                && message.params["uri"] == json!(uri)
            {
                let found = message.params["diagnostics"].as_array().cloned().unwrap_or_default();
                if wanted(&found) {
                    return found;
                }
            }
        }
    }

    fn stop(mut self) {
        self.request("shutdown", Value::Null).expect("an end");
        self.notify("exit", Value::Null);
        self.server.take().expect("a server").join().expect("no panic");
    }
}

fn open(client: &Client, uri: &str, text: &str) {
    let document = json!({"uri": uri, "languageId": "helm", "version": 1, "text": text});
    client.notify("textDocument/didOpen", json!({"textDocument": document}));
}

#[test]
fn what_is_announced_is_answered() {
    let workspace = Workspace::new(&web());
    let (mut client, answer) = Client::start(&workspace);
    let uri = workspace.uri("web/templates/a.yaml");
    open(&client, &uri, "a: {{ .Values.image.tag }}\n");
    let position = json!({"line": 0, "character": 21});
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}});
    let methods = [
        ("completionProvider", "textDocument/completion"),
        ("hoverProvider", "textDocument/hover"),
        ("definitionProvider", "textDocument/definition"),
        ("referencesProvider", "textDocument/references"),
        ("documentHighlightProvider", "textDocument/documentHighlight"),
        ("documentSymbolProvider", "textDocument/documentSymbol"),
        ("workspaceSymbolProvider", "workspace/symbol"),
        ("foldingRangeProvider", "textDocument/foldingRange"),
        ("selectionRangeProvider", "textDocument/selectionRange"),
        ("signatureHelpProvider", "textDocument/signatureHelp"),
        ("inlayHintProvider", "textDocument/inlayHint"),
        ("semanticTokensProvider", "textDocument/semanticTokens/full"),
        ("codeActionProvider", "textDocument/codeAction"),
        ("documentLinkProvider", "textDocument/documentLink"),
        ("documentFormattingProvider", "textDocument/formatting"),
        ("codeLensProvider", "textDocument/codeLens"),
    ];
    for (capability, method) in methods {
        let params = json!({
            "textDocument": {"uri": uri}, "position": position, "positions": [position], "range": range, "query": "",
            "context": {"includeDeclaration": true, "diagnostics": []},
            "options": {"tabSize": 2, "insertSpaces": true},
        });
        let announced = !answer["capabilities"][capability].is_null();
        let answered = client.request(method, params);
        assert_eq!(announced, answered.is_ok(), "{method}: {answered:?}");
    }
    assert_eq!(answer["capabilities"]["positionEncoding"], json!("utf-16"));
    client.stop();
}

#[test]
fn edits_are_applied_in_order_and_old_versions_ignored() {
    let workspace = Workspace::new(&web());
    let (mut client, _) = Client::start(&workspace);
    let uri = workspace.uri("web/templates/a.yaml");
    open(&client, &uri, "é: {{ .Values.x }}\r\nb: 1\r\n");
    let change = |version: i64, line: u64, start: u64, end: u64, text: &str| {
        let range =
            json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}});
        json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"range": range, "text": text}]})
    };
    client.notify("textDocument/didChange", change(2, 0, 14, 15, "image.t"));
    client.notify("textDocument/didChange", change(1, 0, 0, 3, "broken"));
    let params = json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 21}});
    let answer = client.request("textDocument/completion", params).expect("completions");
    let labels: Vec<&str> =
        answer["items"].as_array().expect("items").iter().filter_map(|item| item["label"].as_str()).collect();
    assert!(labels.contains(&"tag"), "{labels:?}");
    client.stop();
}

#[test]
fn several_syntax_errors_appear_and_go() {
    let workspace = Workspace::new(&web());
    let (client, _) = Client::start(&workspace);
    let uri = workspace.uri("web/templates/a.yaml");
    open(&client, &uri, "a: {{ .Values. }}\nb: {{ nope }}\n{{ if .x }}\n");
    let found = client.diagnostics(&uri, |found| found.len() >= 3);
    let lines: Vec<u64> = found.iter().filter_map(|one| one["range"]["start"]["line"].as_u64()).collect();
    assert_eq!(lines, [0, 1, 2], "{found:?}");
    let whole = json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "a: 1\n"}]});
    client.notify("textDocument/didChange", whole);
    client.diagnostics(&uri, <[Value]>::is_empty);
    client.stop();
}

#[test]
fn what_rendering_finds_is_shown_at_its_line() {
    let workspace = Workspace::new(&web());
    let (client, _) = Client::start(&workspace);
    let uri = workspace.uri("web/templates/a.yaml");
    open(&client, &uri, "a: 1\n{{ index .Values.ports 9 }}\n");
    let found = client.diagnostics(&uri, |found| !found.is_empty());
    assert_eq!(found[0]["range"]["start"]["line"], json!(1), "{found:?}");
    assert_eq!(found[0]["severity"], json!(1), "{found:?}");
    client.stop();
}

#[test]
fn fields_of_kubernetes_objects_are_checked_on_unsaved_text() {
    let workspace = Workspace::new(&web());
    let (client, _) = Client::start(&workspace);
    let uri = workspace.uri("web/templates/a.yaml");
    let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.image.repository }}\nspec:\n  ports:\n  - port: {{ .Values.image.repository }}\n";
    open(&client, &uri, text);
    let at_port = |one: &Value| one["range"]["start"]["line"] == json!(6) && one["severity"] == json!(1);
    client.diagnostics(&uri, |found| found.iter().any(at_port));
    client.stop();
}

#[test]
fn unknown_methods_and_malformed_parameters_are_errors_and_the_session_goes_on() {
    let workspace = Workspace::new(&web());
    let (mut client, _) = Client::start(&workspace);
    assert_eq!(client.request("textDocument/nonsense", json!({})), Err(-32601));
    assert_eq!(client.request("textDocument/hover", json!({})), Err(-32602));
    assert_eq!(
        client.request("textDocument/hover", json!({"textDocument": {"uri": "file:///x"}})),
        Err(-32602)
    );
    let params = json!({"textDocument": {"uri": "untitled:1"}, "position": {"line": 9, "character": 9}});
    assert_eq!(client.request("textDocument/hover", params), Ok(Value::Null));
    client.stop();
}

#[test]
fn the_session_ends_when_the_client_is_gone() {
    let workspace = Workspace::new(&web());
    let (mut client, _) = Client::start(&workspace);
    let server = client.server.take().expect("a server");
    drop(client);
    server.join().expect("no panic");
}

#[test]
fn tests_run_beside_other_requests_and_their_lenses_show_how_they_ended() {
    let mut files = web();
    let suite = "suite: a\ntemplates: [a.yaml]\ntests:\n- it: works\n  asserts:\n  - isKind: {of: Service}\n- it: fails\n  asserts:\n  - isKind: {of: Pod}\n";
    files.retain(|(name, _)| *name != "web/templates/a.yaml");
    files.push(("web/templates/a.yaml", "kind: Service\n"));
    files.push(("web/tests/a_test.yaml", suite));
    let workspace = Workspace::new(&files);
    let (mut client, answer) = Client::start(&workspace);
    assert_eq!(answer["capabilities"]["executeCommandProvider"]["commands"], json!(["pintle.runTests"]));
    let uri = workspace.uri("web/tests/a_test.yaml");
    open(&client, &uri, suite);
    let run = json!({"command": "pintle.runTests", "arguments": [uri]});
    let running = client.send("workspace/executeCommand", run);
    let outcome = client.response(&running);
    let outcome = serde_json::to_value(outcome).expect("JSON")["result"].clone();
    assert_eq!(outcome["summary"], json!("1 of 2 failed"), "{outcome}");
    let lenses =
        client.request("textDocument/codeLens", json!({"textDocument": {"uri": uri}})).expect("lenses");
    let mut titles = Vec::new();
    for lens in lenses.as_array().expect("lenses") {
        let lens = client.request("codeLens/resolve", lens.clone()).expect("a lens");
        titles.push(lens["command"]["title"].as_str().expect("a title").to_owned());
    }
    assert_eq!(titles[..2], ["Run the tests: 1 of 2 failed", "Run: passed"]);
    assert!(titles[2].starts_with("Run: failed, - asserts[0]"), "{titles:?}");
    let template = workspace.uri("web/templates/a.yaml");
    let lenses =
        client.request("textDocument/codeLens", json!({"textDocument": {"uri": template}})).expect("lenses");
    let lens = client.request("codeLens/resolve", lenses[0].clone()).expect("a lens");
    assert_eq!(lens["command"]["title"], json!("Tests run 1 of 1 lines"));
    for wrong in [
        json!({"command": "pintle.nothing", "arguments": [uri]}),
        json!({"command": "pintle.runTests"}),
        json!({"command": "pintle.runTests", "arguments": [template]}),
    ] {
        assert_eq!(client.request("workspace/executeCommand", wrong), Err(-32602));
    }
    client.stop();
}

#[test]
fn clients_are_told_when_a_preview_may_have_changed() {
    let workspace = Workspace::new(&web());
    let (mut client, _) = Client::start(&workspace);
    let uri = workspace.uri("web/templates/b.yaml");
    open(&client, &uri, "a: {{ .Values.replicas }}\n");
    let document = json!({"textDocument": {"uri": uri}});
    let shown = client.request("pintle/preview", document.clone()).expect("a preview");
    assert_eq!(shown["text"], json!("a: 2\n"));
    let change = json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "b: {{ .Values.replicas }}\n"}]});
    client.notify("textDocument/didChange", change);
    loop {
        if let Message::Notification(message) = client.receive()
            && message.method == "pintle/previewChanged"
        {
            assert_eq!(message.params["uri"], shown["uri"]);
            break;
        }
    }
    let content =
        client.request("workspace/textDocumentContent", json!({"uri": shown["uri"]})).expect("a text");
    assert_eq!(content["text"], json!("b: 2\n"));
    client.stop();
}

#[test]
fn formatting_is_announced_when_it_is_on_and_settings_can_change() {
    let workspace = Workspace::new(&web());
    let (mut client, answer) = Client::start(&workspace);
    assert!(answer["capabilities"]["documentFormattingProvider"].is_null());
    let uri = workspace.uri("web/values.yaml");
    open(&client, &uri, "replicas: 2\n");
    let settings = json!({"settings": {"pintle": {"scenarios": {"two": "values.yaml"}}}});
    client.notify("workspace/didChangeConfiguration", settings);
    let listed =
        client.request("pintle/scenarios", json!({"textDocument": {"uri": uri}})).expect("scenarios");
    let names: Vec<&str> = listed["scenarios"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["", "ci/more-values.yaml", "two"]);
    client.stop();
}
