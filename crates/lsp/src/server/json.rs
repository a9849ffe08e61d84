//! What the analysis knows, as JSON of the protocol.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Value, json};

use super::Server;
use super::answers::{Failure, INVALID_PARAMS};
use crate::completion::{Item, ItemKind};
use crate::diagnostics::Problem;
use crate::position::{Encoding, LineIndex};
use crate::project::{FileId, Project};
use crate::rename::Edits;
use crate::structure::Symbol;
use crate::thing::Target;
use crate::uri;

/// The table of functions, which answers need while the server is borrowed.
pub(super) fn pintle_functions(server: &Server) -> pintle_gotmpl::Functions {
    server.functions.clone()
}

pub(super) fn uri_of(params: &Value) -> Result<String, Failure> {
    let uri = params["textDocument"]["uri"].as_str();
    uri.map(uri::normalized)
        .ok_or_else(|| Failure { code: INVALID_PARAMS, message: "the document is missing".to_owned() })
}

pub(super) fn completion_item(item: &Item, text: &str, lines: &LineIndex, encoding: Encoding) -> Value {
    let kind = match item.kind {
        ItemKind::Function | ItemKind::Template => 3,
        ItemKind::Field => 5,
        ItemKind::Method => 2,
        ItemKind::Map => 9,
        ItemKind::Value => 12,
        ItemKind::Chart => 9,
        ItemKind::Variable => 6,
        ItemKind::Keyword => 14,
        ItemKind::File => 17,
    };
    let new = item.insert.as_deref().unwrap_or(&item.label);
    let mut value = json!({
        "label": item.label,
        "kind": kind,
        "textEdit": {"range": lines.range(text, item.replace.clone(), encoding), "newText": new},
    });
    if !item.detail.is_empty() {
        value["detail"] = json!(item.detail);
    }
    if !item.about.is_empty() {
        value["documentation"] = json!({"kind": "markdown", "value": item.about});
    }
    if item.is_snippet {
        value["insertTextFormat"] = json!(2);
    }
    // Fields and variables before functions.
    let group = match item.kind {
        ItemKind::Keyword => "1",
        ItemKind::Variable => "2",
        ItemKind::Function => "3",
        _ => "0",
    };
    value["sortText"] = json!(format!("{group}{}", item.label));
    value
}

pub(super) fn location(project: &Project, target: &Target, encoding: Encoding) -> Value {
    let file = project.file(target.file);
    let range = file.text.lines.range(&file.text.text, target.start..target.end, encoding);
    json!({"uri": file.uri, "range": range})
}

pub(super) fn locations(project: &Project, targets: &[Target], encoding: Encoding) -> Vec<Value> {
    targets.iter().map(|target| location(project, target, encoding)).collect()
}

pub(super) fn distinct(found: Vec<Vec<Value>>) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for value in found.into_iter().flatten() {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    Value::from(all)
}

pub(super) fn edits_of(project: &Project, edits: &Edits, encoding: Encoding) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    for (file, edits) in edits {
        let source = project.file(*file);
        let edit = |(range, text): &(Range<usize>, String)| json!({"range": source.text.lines.range(&source.text.text, range.clone(), encoding), "newText": text});
        found.insert(source.uri.clone(), edits.iter().map(edit).collect());
    }
    found
}

pub(super) fn symbol_json(symbol: &Symbol, text: &str, lines: &LineIndex, encoding: Encoding) -> Value {
    let children: Vec<Value> =
        symbol.children.iter().map(|child| symbol_json(child, text, lines, encoding)).collect();
    json!({
        "name": symbol.name,
        "detail": symbol.detail,
        "kind": symbol.kind,
        "range": lines.range(text, symbol.range.clone(), encoding),
        "selectionRange": lines.range(text, symbol.selection.clone(), encoding),
        "children": children,
    })
}

/// Tokens as the protocol wants them: five numbers each, relative to the one before. Tokens of several lines are split.
pub(super) fn encode_tokens(
    tokens: &[(Range<usize>, u32, u32)],
    text: &str,
    lines: &LineIndex,
    encoding: Encoding,
    within: &std::ops::RangeInclusive<usize>,
) -> Vec<usize> {
    let mut data = Vec::new();
    let (mut last_line, mut last_column) = (0, 0);
    for (range, kind, modifiers) in tokens {
        for line in lines.line(range.start)..=lines.line(range.end.saturating_sub(1).max(range.start)) {
            let line_range = lines.line_range(text, line);
            let part = range.start.max(line_range.start)..range.end.min(line_range.end);
            if part.is_empty() || !within.contains(&line) {
                continue;
            }
            let (_, column) = lines.position(text, part.start, encoding);
            let (_, end) = lines.position(text, part.end, encoding);
            let delta = if line == last_line { column - last_column } else { column };
            data.extend([line - last_line, delta, end - column, *kind as usize, *modifiers as usize]);
            (last_line, last_column) = (line, column);
        }
    }
    data
}

pub(super) fn problems_json(
    project: &Project,
    file: FileId,
    problems: &[Problem],
    encoding: Encoding,
) -> Vec<Value> {
    let text = &project.file(file).text;
    let one = |problem: &Problem| {
        let mut value = json!({
            "range": text.lines.range(&text.text, problem.range.clone(), encoding),
            "severity": problem.level as u32,
            "source": "pintle",
            "code": problem.code,
            "message": problem.message,
        });
        if let Some((from, to)) = &problem.fix {
            value["data"] = json!({"fix": {"from": from, "to": to}});
        }
        if problem.unnecessary {
            value["tags"] = json!([1]);
        }
        if let Some((file, range, message)) = &problem.related {
            let target = Target::new(*file, range.clone());
            value["relatedInformation"] =
                json!([{"location": location(project, &target, encoding), "message": message}]);
        }
        value
    };
    problems.iter().map(one).collect()
}
