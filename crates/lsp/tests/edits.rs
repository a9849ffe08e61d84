//! Random edits: after each, the answers are those of a server that has just been started.

use pintle_testkit::Random;
use serde_json::{Value, json};

use super::support::{Workspace, web};

const PIECES: [&str; 22] = [
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
];

#[test]
fn answers_after_edits_are_those_of_a_fresh_server() {
    let mut random = Random(7);
    for round in 0..6 {
        let mut workspace = Workspace::new(&web());
        let name = ["web/templates/a.yaml", "web/templates/_helpers.tpl", "web/values.yaml"][round % 3];
        let uri = workspace.uri(name);
        let mut text = std::fs::read_to_string(workspace.path(name)).expect("a file");
        workspace.server.open(&uri, 0, text.clone());
        for version in 1..60 {
            let lines: Vec<&str> = text.split('\n').collect();
            let line = random.below(lines.len());
            let width: usize = lines[line].chars().map(char::len_utf16).sum();
            let (start, end) = (random.below(width + 1), random.below(width + 1));
            let (start, end) = (start.min(end), end.max(start).min(start + 3));
            let piece = PIECES[random.below(PIECES.len())];
            let range =
                json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}});
            workspace.server.change(&uri, version, &[json!({"range": range, "text": piece})]);
            text = replaced(&text, line, start, end, piece);
            if version % 6 == 0 {
                compare(&mut workspace, &uri, &text, &mut random);
            }
        }
    }
}

fn replaced(text: &str, line: usize, start: usize, end: usize, piece: &str) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let byte = |column: usize| {
        let mut left = column;
        for (at, character) in lines[line].char_indices() {
            if left < character.len_utf16() {
                return at;
            }
            left -= character.len_utf16();
        }
        lines[line].len()
    };
    let range = byte(start)..byte(end);
    lines[line].replace_range(range, piece);
    lines.join("\n")
}

fn compare(workspace: &mut Workspace, uri: &str, text: &str, random: &mut Random) {
    let mut fresh = pintle_lsp::Server::new(vec![workspace.path("")], pintle_lsp::position::Encoding::Utf16);
    fresh.open(uri, 1, text.to_owned());
    let other = workspace.uri("web/templates/_helpers.tpl");
    for _ in 0..3 {
        let line = random.below(text.split('\n').count());
        let character = random.below(60);
        for uri in [uri, &other] {
            let params = json!({
                "textDocument": {"uri": uri}, "position": {"line": line, "character": character},
                "context": {"includeDeclaration": true},
            });
            for method in
                ["completion", "hover", "definition", "references", "documentSymbol", "semanticTokens/full"]
            {
                let method = format!("textDocument/{method}");
                let answer = |server: &mut pintle_lsp::Server| -> Value {
                    server.answer(&method, &params).unwrap_or_else(|failure| json!(failure.message))
                };
                assert_eq!(
                    answer(&mut workspace.server),
                    answer(&mut fresh),
                    "{method} at {line}:{character} of\n{text}"
                );
            }
        }
    }
}
