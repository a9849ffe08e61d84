//! Charts in temporary folders, and a server for them.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_lsp::Server;
use pintle_lsp::position::Encoding;
use pintle_lsp::uri;
use serde_json::{Value, json};

/// A workspace on disk and a server for it.
pub struct Workspace {
    pub folder: tempfile::TempDir,
    pub server: Server,
}

/// A position in a document.
pub struct Cursor {
    pub uri: String,
    pub line: usize,
    pub character: usize,
}

impl Workspace {
    /// Writes files and starts a server. Names are relative.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a file in a folder")).expect("can be made");
            fs::write(path, text).expect("can be written");
        }
        let server = Server::new(vec![folder.path().to_owned()], Encoding::Utf16);
        Workspace { folder, server }
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("the folder is there").join(name)
    }

    pub fn uri(&self, name: &str) -> String {
        uri::from_path(&self.path(name))
    }

    /// Opens a file with a text in which `¦` is the cursor.
    pub fn open(&mut self, name: &str, text: &str) -> Cursor {
        let at = text.find('¦').expect("the text has a cursor");
        let before = &text[..at];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default();
        let character = column.chars().map(char::len_utf16).sum();
        let uri = self.uri(name);
        self.server.open(&uri, 1, text.replacen('¦', "", 1));
        Cursor { uri, line, character }
    }

    pub fn ask(&mut self, method: &str, cursor: &Cursor) -> Value {
        self.ask_with(method, cursor, json!({}))
    }

    pub fn ask_with(&mut self, method: &str, cursor: &Cursor, more: Value) -> Value {
        let mut params = json!({
            "textDocument": {"uri": cursor.uri},
            "position": {"line": cursor.line, "character": cursor.character},
        });
        for (key, value) in more.as_object().expect("an object") {
            params[key] = value.clone();
        }
        self.server.answer(method, &params).unwrap_or_else(|failure| json!({"error": failure.message}))
    }

    /// The labels of the completions at the cursor of a text.
    pub fn complete(&mut self, name: &str, text: &str) -> Vec<String> {
        let cursor = self.open(name, text);
        let answer = self.ask("textDocument/completion", &cursor);
        let items = answer["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["label"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The places that an answer lists, as `file:line:column` from 1, relative to the workspace.
    pub fn places(&self, answer: &Value) -> Vec<String> {
        let root = self.path("");
        let list = answer.as_array().cloned().unwrap_or_default();
        let shown = |location: &Value| {
            let uri = location["uri"].as_str().unwrap_or_default();
            let start = &location["range"]["start"];
            let name = match uri::to_path(uri) {
                Some(path) => path.strip_prefix(&root).unwrap_or(Path::new(uri)).display().to_string(),
                None => uri.rsplit("charts/").next().unwrap_or_default().to_owned(),
            };
            format!(
                "{name}:{}:{}",
                start["line"].as_u64().unwrap_or(0) + 1,
                start["character"].as_u64().unwrap_or(0) + 1
            )
        };
        list.iter().map(shown).collect()
    }
}

/// A chart with a subchart under an alias, helpers and values of all shapes.
pub fn web() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: \"2\"\ndependencies:\n- name: db\n  alias: store\n  version: 1.x\n  condition: store.enabled\n- name: common\n  version: 1.x\n",
        ),
        (
            "web/values.yaml",
            "# The image.\nimage:\n  # Where it is.\n  repository: nginx\n  tag: \"1\"\nreplicas: 2\nports:\n- name: http\n  port: 80\nhosts:\n  a:\n    path: /\n    tls: {secret: x}\nstore:\n  size: 5Gi\nglobal:\n  zone: eu\nextra: {}\n",
        ),
        ("web/ci/more-values.yaml", "image:\n  digest: sha\nnested:\n  deep: 1\n"),
        (
            "web/values.schema.json",
            "{\"properties\": {\"image\": {\"properties\": {\"pullPolicy\": {\"type\": \"string\", \"description\": \"When to pull.\", \"enum\": [\"Always\", \"Never\"]}}}}}",
        ),
        (
            "web/templates/_helpers.tpl",
            "{{/* The name. */}}\n{{- define \"web.name\" -}}\n{{ .Chart.Name }}\n{{- end }}\n{{- define \"web.port\" -}}\n{{ .item.port }}{{ .ctx.Values.replicas }}\n{{- end }}\n",
        ),
        (
            "web/templates/a.yaml",
            "kind: Service\nmetadata:\n  name: {{ include \"web.name\" . }}\nspec:\n  {{- range .Values.ports }}\n  {{ include \"web.port\" (dict \"item\" . \"ctx\" $) }}\n  {{- end }}\n  image: {{ .Values.image.repository }}\n",
        ),
        ("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"),
        ("web/charts/db/values.yaml", "size: 1Gi\nenabled: true\nauth:\n  user: me\n"),
        ("web/charts/db/templates/s.yaml", "size: {{ .Values.size }}\nzone: {{ .Values.global.zone }}\n"),
        ("web/charts/common/Chart.yaml", "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n"),
        (
            "web/charts/common/templates/_l.tpl",
            "{{ define \"common.labels\" }}app: {{ .Chart.Name }}{{ end }}\n",
        ),
        ("web/files/conf.txt", "x"),
    ]
}
