//! Formatting of actions: blanks inside of delimiters and around pipes. What is between actions is left alone, and so are the
//! tokens of actions; an edit that would change either is not offered. So what is rendered is the same with all values.

use std::ops::Range;

use pintle_gotmpl::Functions;
use pintle_gotmpl::syntax::{SyntaxToken, SyntaxTree, TokenKind};

/// The edits that format a template. Empty if it has errors, or is formatted already.
pub fn template(tree: &SyntaxTree, functions: &Functions) -> Vec<(Range<usize>, String)> {
    if !tree.errors().is_empty() {
        return Vec::new();
    }
    let tokens = tree.tokens();
    let text = tree.text().as_bytes();
    let mut edits = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        let [left, right] = pair else { continue };
        if right.kind == TokenKind::Space {
            let next = tokens.get(index + 2);
            let blanks = &text[right.range.clone()];
            // Lines stay as their writer broke them.
            if let Some(next) = next.filter(|_| blanks != b" " && !blanks.contains(&b'\n'))
                && is_inside(left.kind)
                && is_inside(next.kind)
            {
                edits.push((right.range.clone(), " ".to_owned()));
            }
        } else if needs_blank(left.kind, right.kind) {
            edits.push((right.range.start..right.range.start, " ".to_owned()));
        }
    }
    if keeps_tokens(tree, functions, &edits) { edits } else { Vec::new() }
}

/// Whether a token is part of an action, with its delimiters.
fn is_inside(kind: TokenKind) -> bool {
    !matches!(kind, TokenKind::Text | TokenKind::Trimmed | TokenKind::Comment | TokenKind::Unknown)
}

/// Whether two tokens that touch each other have a blank between them in a formatted action.
fn needs_blank(left: TokenKind, right: TokenKind) -> bool {
    if left == TokenKind::Space {
        return false;
    }
    let outer = matches!(left, TokenKind::LeftDelimiter) && is_inside(right)
        || matches!(right, TokenKind::RightDelimiter) && is_inside(left);
    let around = |kind: TokenKind| matches!(kind, TokenKind::Pipe | TokenKind::Assign);
    outer || around(left) || around(right) || left == TokenKind::Comma
}

/// Whether the tokens after some edits are those before, without white space in actions.
fn keeps_tokens(tree: &SyntaxTree, functions: &Functions, edits: &[(Range<usize>, String)]) -> bool {
    let mut text = tree.text().as_bytes().to_vec();
    for (range, new) in edits.iter().rev() {
        text.splice(range.clone(), new.bytes());
    }
    let after = SyntaxTree::parse(text, functions);
    let all = |tree: &SyntaxTree| -> Vec<(TokenKind, Vec<u8>)> {
        let part = |token: &SyntaxToken| {
            let text = &tree.text().as_bytes()[token.range.clone()];
            // A trim marker comes with blanks of its own.
            let text = match token.kind {
                TokenKind::LeftDelimiter | TokenKind::RightDelimiter => text.trim_ascii(),
                _ => text,
            };
            (token.kind, text.to_vec())
        };
        tree.tokens().iter().filter(|token| token.kind != TokenKind::Space).map(part).collect()
    };
    after.errors().is_empty() && all(tree) == all(&after)
}

/// The edits that format a values file: blanks at the ends of lines, and one line break at the end. Empty if the values would
/// change, as in texts of several lines.
pub fn values(text: &str) -> Vec<(Range<usize>, String)> {
    let Ok(before) = pintle_yaml::read_values(text.as_bytes()) else { return Vec::new() };
    let mut edits = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let kept = content.trim_end_matches([' ', '\t']).len();
        if kept < content.len() {
            edits.push((at + kept..at + content.len(), String::new()));
        }
        at += line.len();
    }
    let content = text.trim_end().len();
    let tail = &text[content..];
    if !text.is_empty() && content > 0 && tail != "\n" && tail != "\r\n" {
        edits.retain(|(range, _)| range.start < content);
        edits.push((content..text.len(), "\n".to_owned()));
    }
    let mut after = text.to_owned();
    for (range, new) in edits.iter().rev() {
        after.replace_range(range.clone(), new);
    }
    let same = pintle_yaml::read_values(after.as_bytes()).is_ok_and(|after| after == before);
    if same { edits } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str) -> String {
        let functions = pintle::render::functions();
        let mut out = text.to_owned();
        for (range, new) in template(&SyntaxTree::parse(text, &functions), &functions).iter().rev() {
            out.replace_range(range.clone(), new);
        }
        out
    }

    #[test]
    fn blanks_are_put_in_delimiters_and_around_pipes_and_text_is_left_alone() {
        assert_eq!(formatted("a:  {{.Values.a|quote}}  b"), "a:  {{ .Values.a | quote }}  b");
        assert_eq!(formatted("{{-  if   .a -}} x {{- end   -}}"), "{{- if .a -}} x {{- end -}}");
        assert_eq!(formatted("{{range $k,$v:=.a}}{{end}}"), "{{ range $k, $v := .a }}{{ end }}");
        assert_eq!(formatted("{{/*  a  */}}{{- /* b */ -}}"), "{{/*  a  */}}{{- /* b */ -}}");
        assert_eq!(formatted("{{ quote \"a  |b\" }}"), "{{ quote \"a  |b\" }}");
        assert_eq!(formatted("{{ .a\n  |  quote }}"), "{{ .a\n  | quote }}");
        assert_eq!(formatted("{{-3}}{{.a }}{{ -3}}"), "{{ -3 }}{{ .a }}{{ -3 }}");
        assert_eq!(formatted("{{ $a := .b | quote }}"), "{{ $a := .b | quote }}");
        assert_eq!(formatted("{{ if .a"), "{{ if .a");
    }

    #[test]
    fn values_keep_what_they_are() {
        let text = "a: 1  \nb: |\n  x\n\n\n";
        let mut out = text.to_owned();
        for (range, new) in values(text).iter().rev() {
            out.replace_range(range.clone(), new);
        }
        assert_eq!(out, "a: 1\nb: |\n  x\n");
        assert!(values("b: |\n  x  \n  y\n").is_empty(), "blanks in a text are part of it");
        assert!(values("a: {").is_empty());
    }
}
