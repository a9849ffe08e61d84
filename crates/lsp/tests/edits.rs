//! Random edits: after each, the answers are those of a server that has just been started.

use std::fs;

use pintle::chart::read_archive;
use pintle_lsp::Server;
use pintle_lsp::position::Encoding;
use pintle_testkit::{Random, corpus};
use serde_json::{Value, json};

use super::support::{Workspace, web};

const PIECES: [&str; 26] = [
    "{{",
    "}}",
    " .Values.",
    "image",
    ".tag",
    "\n",
    "{{- if .Values.image }}",
    "{{ end }}",
    "{{ else }}",
    "$x",
    " := ",
    "{{ range .Values.ports }}",
    "{{ define \"z\" }}",
    "\"",
    "é",
    "|",
    " quote ",
    "(",
    ")",
    "{{ include \"web.name\" . }}",
    "-",
    "a: b",
    "",
    "{{/* ",
    "\r\n",
    "𝄞",
];

/// What is asked with a position, and what without.
const METHODS: [&str; 13] = [
    "completion",
    "hover",
    "definition",
    "references",
    "documentHighlight",
    "signatureHelp",
    "documentSymbol",
    "semanticTokens/full",
    "foldingRange",
    "inlayHint",
    "documentLink",
    "codeLens",
    "diagnostic",
];

/// The number of edits of a usual run. `PINTLE_LSP_EDITS` sets another one, for long runs with optimisation.
const EDITS: usize = 360;

/// The edits of one document, before another one is taken.
const EDITS_OF_A_DOCUMENT: usize = 60;

#[expect(clippy::disallowed_methods, reason = "the length of a run is a setting of who starts it")]
fn edits() -> usize {
    std::env::var("PINTLE_LSP_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(EDITS)
}

#[test]
fn answers_after_edits_are_those_of_a_fresh_server() {
    let mut random = Random(7);
    let (mut made, mut round) = (0, 0);
    while made < edits() {
        let name =
            ["web/templates/a.yaml", "web/templates/_helpers.tpl", "web/values.yaml", "web/Chart.yaml"]
                [round % 4];
        let mut workspace = Workspace::new(&web());
        let count = EDITS_OF_A_DOCUMENT.min(edits() - made);
        Edited::new(&mut workspace, name, "web/templates/_helpers.tpl").run(count, &mut random);
        (made, round) = (made + count, round + 1);
    }
}

/// Real charts are larger, so they get a tenth of the edits of a long run, and a few in a usual one.
#[test]
fn answers_after_edits_of_real_charts_are_those_of_a_fresh_server() {
    let Some(folder) = corpus("charts") else { return };
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|end| end == "tgz")
            && path.metadata().is_ok_and(|metadata| metadata.len() < 40_000)
    });
    paths.sort();
    let mut random = Random(11);
    let (mut made, wanted) = (0, (edits() / 10).clamp(12, 20_000));
    while made < wanted && !paths.is_empty() {
        let path = &paths[random.below(paths.len())];
        let files = read_archive(fs::read(path).expect("an archive")).expect("an archive");
        let texts: Vec<(String, String)> = files
            .iter()
            .filter_map(|file| {
                Some((format!("c/{}", file.name), String::from_utf8(file.data.to_vec()).ok()?))
            })
            .collect();
        let listed: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let edited = |(name, text): &&(&str, &str)| {
            (name.contains("/templates/") || name.ends_with("values.yaml")) && !text.is_empty()
        };
        let names: Vec<&str> = listed.iter().filter(edited).map(|(name, _)| *name).collect();
        if names.is_empty() {
            continue;
        }
        let mut workspace = Workspace::new(&listed);
        let (name, other) = (names[random.below(names.len())], names[random.below(names.len())]);
        let count = 6.min(wanted - made);
        Edited::new(&mut workspace, name, other).run(count, &mut random);
        made += count;
    }
}

/// A document that is edited, and another one of the chart, about which is asked too.
struct Edited<'w> {
    workspace: &'w mut Workspace,
    uri: String,
    other: String,
    text: String,
}

impl<'w> Edited<'w> {
    fn new(workspace: &'w mut Workspace, name: &str, other: &str) -> Self {
        let (uri, other) = (workspace.uri(name), workspace.uri(other));
        let text = fs::read_to_string(workspace.path(name)).expect("a file");
        workspace.server.open(&uri, 0, text.clone());
        Edited { workspace, uri, other, text }
    }

    fn run(mut self, count: usize, random: &mut Random) {
        for version in 1..=count {
            let lines: Vec<&str> = self.text.split('\n').collect();
            let line = random.below(lines.len());
            let content = lines[line].trim_end_matches('\r');
            let width: usize = content.chars().map(char::len_utf16).sum();
            let (start, end) = (random.below(width + 1), random.below(width + 1));
            let (start, end) = (start.min(end), end.max(start).min(start + 3));
            let piece = PIECES[random.below(PIECES.len())];
            let range =
                json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}});
            self.workspace.server.change(
                &self.uri,
                version as i64,
                &[json!({"range": range, "text": piece})],
            );
            self.text = replaced(&self.text, line, start, end, piece);
            self.compare(random);
        }
    }

    fn compare(&mut self, random: &mut Random) {
        let mut fresh = Server::new(vec![self.workspace.path("")], Encoding::Utf16);
        fresh.open(&self.uri, 1, self.text.clone());
        let line = random.below(self.text.split('\n').count());
        let character = random.below(60);
        let method = METHODS[random.below(METHODS.len())];
        // The most used ones each time, the others by turns.
        for method in ["completion", "definition", method] {
            for uri in [&self.uri, &self.other] {
                let position = json!({"line": line, "character": character});
                let params = json!({
                    "textDocument": {"uri": uri}, "position": position,
                    "range": {"start": {"line": 0, "character": 0}, "end": position},
                    "context": {"includeDeclaration": true},
                });
                let method = format!("textDocument/{method}");
                let answer = |server: &mut Server| -> Value {
                    let mut answer =
                        server.answer(&method, &params).unwrap_or_else(|failure| json!(failure.message));
                    // The names of answers are counted.
                    if let Some(tokens) = answer.as_object_mut() {
                        tokens.remove("resultId");
                    }
                    answer
                };
                assert_eq!(
                    answer(&mut self.workspace.server),
                    answer(&mut fresh),
                    "{method} at {line}:{character} of\n{}",
                    self.text
                );
            }
        }
    }
}

/// A text with a part of a line replaced. A carriage return may be a line break of its own.
fn replaced(text: &str, line: usize, start: usize, end: usize, piece: &str) -> String {
    let index = pintle_lsp::position::LineIndex::new(text);
    let offset = |column| index.offset(text, line, column, Encoding::Utf16);
    let mut text = text.to_owned();
    text.replace_range(offset(start)..offset(end), piece);
    text
}
