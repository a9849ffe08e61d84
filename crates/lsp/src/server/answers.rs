//! The answers to requests, as JSON of the protocol.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use pintle::embedded::ApiCatalog;
use serde_json::{Value, json};

use super::Server;
use crate::analysis::Analysis;
use crate::completion::{Item, ItemKind, Kubernetes};
use crate::diagnostics::{Problem, Problems};
use crate::position::{Encoding, LineIndex};
use crate::project::{FileId, Project};
use crate::rename::Edits;
use crate::structure::{self, Symbol};
use crate::thing::{Target, Thing};
use crate::uri;

/// Why a request failed.
#[derive(Debug)]
pub struct Failure {
    /// The code of the protocol.
    pub code: i32,
    /// The text.
    pub message: String,
}

/// The code for a request that is refused for a reason that users can understand.
const REQUEST_FAILED: i32 = -32803;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

type Answer = Result<Value, Failure>;

/// The API versions of the newest Kubernetes version that is known.
pub(super) struct Kinds;

impl Kubernetes for Kinds {
    fn api_versions(&self) -> Vec<String> {
        let mut versions = Vec::new();
        for resource in ApiCatalog::newest().resources() {
            let (group, version) = (resource.group.to_str_lossy(), resource.version.to_str_lossy());
            let api = if group.is_empty() { version.into_owned() } else { format!("{group}/{version}") };
            versions.push(format!("{api}/{}", resource.kind.to_str_lossy()));
            versions.push(api);
        }
        versions.sort();
        versions.dedup();
        versions
    }
}

/// A place in a document, in all projects that it belongs to.
struct At {
    places: Vec<(PathBuf, FileId)>,
    offset: usize,
}

impl Server {
    /// Answers a request.
    ///
    /// # Errors
    /// When the method is not known, the parameters are malformed, or the request is refused.
    pub fn answer(&mut self, method: &str, params: &Value) -> Answer {
        match method {
            "textDocument/completion" => self.completion(params),
            "textDocument/hover" => self.hover(params),
            "textDocument/definition" => self.definition(params),
            "textDocument/references" => self.references(params),
            "textDocument/documentHighlight" => self.highlight(params),
            "textDocument/prepareRename" => self.prepare_rename(params),
            "textDocument/rename" => self.rename(params),
            "textDocument/documentSymbol" => self.symbols(params),
            "textDocument/foldingRange" => self.folding(params),
            "textDocument/selectionRange" => self.selection(params),
            "textDocument/semanticTokens/full" => self.semantic_tokens(params, false),
            "textDocument/semanticTokens/range" => self.semantic_tokens(params, true),
            "textDocument/signatureHelp" => self.signature(params),
            "textDocument/inlayHint" => self.hints(params),
            "textDocument/codeAction" => self.actions(params),
            "textDocument/diagnostic" => self.diagnostic(params),
            "workspace/symbol" => self.workspace_symbols(params),
            "workspace/textDocumentContent" => self.content(params),
            _ => Err(Failure { code: METHOD_NOT_FOUND, message: format!("`{method}` is not known") }),
        }
    }

    fn at(&mut self, params: &Value) -> Result<At, Failure> {
        let uri = uri_of(params)?;
        let position = &params["position"];
        let part = |key: &str| position[key].as_u64().map(|number| number as usize);
        let (Some(line), Some(character)) = (part("line"), part("character")) else {
            return Err(Failure { code: INVALID_PARAMS, message: "the position is missing".to_owned() });
        };
        let places = self.places_of(&uri);
        let text = match places.first() {
            Some((root, file)) => {
                let project = self.project(root);
                project.map(|project| std::sync::Arc::clone(&project.file(*file).text))
            }
            None => None,
        };
        let encoding = self.encoding;
        let offset = text.map_or(0, |text| text.lines.offset(&text.text, line, character, encoding));
        Ok(At { places, offset })
    }

    fn completion(&mut self, params: &Value) -> Answer {
        let at = self.at(params)?;
        let encoding = self.encoding;
        let mut items: BTreeMap<String, Value> = BTreeMap::new();
        let functions = pintle_functions(self);
        for (root, file) in at.places {
            let Some(analysis) = self.analysis(&root) else { continue };
            let text = std::sync::Arc::clone(&analysis.project.file(file).text);
            for item in analysis.completions(file, at.offset, &functions, &Kinds) {
                let value = completion_item(&item, &text.text, &text.lines, encoding);
                items.entry(item.label.clone()).or_insert(value);
            }
        }
        Ok(json!({"isIncomplete": false, "items": items.into_values().collect::<Vec<_>>()}))
    }

    /// Calls a function with the thing at a position, in each project.
    fn things<T>(
        &mut self,
        params: &Value,
        mut each: impl FnMut(&Analysis, FileId, Range<usize>, Thing) -> Option<T>,
    ) -> Result<Vec<T>, Failure> {
        let at = self.at(params)?;
        let mut found = Vec::new();
        for (root, file) in at.places {
            let Some(analysis) = self.analysis(&root) else { continue };
            if let Some((range, thing)) = analysis.thing_at(file, at.offset) {
                found.extend(each(analysis, file, range, thing));
            }
        }
        Ok(found)
    }

    fn hover(&mut self, params: &Value) -> Answer {
        let (encoding, functions) = (self.encoding, pintle_functions(self));
        let found = self.things(params, |analysis, file, range, thing| {
            let text = &analysis.project.file(file).text;
            let about = analysis.hover(file, &thing, &functions)?;
            Some((about, text.lines.range(&text.text, range, encoding)))
        })?;
        let mut texts: Vec<String> = Vec::new();
        for (text, _) in &found {
            if !texts.contains(text) {
                texts.push(text.clone());
            }
        }
        Ok(match found.first() {
            Some((_, range)) => {
                json!({"contents": {"kind": "markdown", "value": texts.join("\n\n---\n\n")}, "range": range})
            }
            None => self.object_hover(params)?,
        })
    }

    fn object_hover(&mut self, params: &Value) -> Answer {
        let (at, encoding) = (self.at(params)?, self.encoding);
        let Some((root, file)) = at.places.into_iter().next() else { return Ok(Value::Null) };
        let Some(analysis) = self.analysis(&root) else { return Ok(Value::Null) };
        let text = &analysis.project.file(file).text;
        Ok(match analysis.object_hover(file, at.offset) {
            Some((about, range)) => {
                let range = text.lines.range(&text.text, range, encoding);
                json!({"contents": {"kind": "markdown", "value": about}, "range": range})
            }
            None => Value::Null,
        })
    }

    fn definition(&mut self, params: &Value) -> Answer {
        let encoding = self.encoding;
        let found = self.things(params, |analysis, file, _, thing| {
            let targets = analysis.definitions(file, &thing);
            Some(locations(&analysis.project, &targets, encoding))
        })?;
        Ok(distinct(found))
    }

    fn references(&mut self, params: &Value) -> Answer {
        let encoding = self.encoding;
        let with_definitions = params["context"]["includeDeclaration"].as_bool().unwrap_or(true);
        let found = self.things(params, |analysis, file, _, thing| {
            let targets = analysis.references(file, &thing, with_definitions);
            Some(locations(&analysis.project, &targets, encoding))
        })?;
        Ok(distinct(found))
    }

    fn highlight(&mut self, params: &Value) -> Answer {
        let encoding = self.encoding;
        let found = self.things(params, |analysis, file, _, thing| {
            let text = &analysis.project.file(file).text;
            let targets = analysis.references(file, &thing, true).into_iter().filter(|target| target.file == file);
            let highlight = |target: Target| {
                json!({"range": text.lines.range(&text.text, target.start..target.end, encoding), "kind": 1})
            };
            Some(targets.map(highlight).collect())
        })?;
        Ok(distinct(found))
    }

    fn prepare_rename(&mut self, params: &Value) -> Answer {
        let encoding = self.encoding;
        let found = self.things(params, |analysis, file, range, thing| {
            let text = &analysis.project.file(file).text;
            let placeholder = text.text[range.clone()].to_owned();
            let range = text.lines.range(&text.text, range, encoding);
            Some(
                analysis
                    .can_rename(file, &thing)
                    .map(|()| json!({"range": range, "placeholder": placeholder})),
            )
        })?;
        match found.into_iter().next() {
            Some(Ok(range)) => Ok(range),
            Some(Err(reason)) => Err(Failure { code: REQUEST_FAILED, message: reason }),
            None => Ok(Value::Null),
        }
    }

    fn rename(&mut self, params: &Value) -> Answer {
        let encoding = self.encoding;
        let name = params["newName"].as_str().unwrap_or_default().to_owned();
        let found = self.things(params, |analysis, file, _, thing| {
            let edits = analysis.rename(file, &thing, &name);
            Some(edits.map(|edits| edits_of(&analysis.project, &edits, encoding)))
        })?;
        let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for edits in found {
            let edits = edits.map_err(|message| Failure { code: REQUEST_FAILED, message })?;
            for (uri, edits) in edits {
                let known = all.entry(uri).or_default();
                for edit in edits {
                    if !known.contains(&edit) {
                        known.push(edit);
                    }
                }
            }
        }
        let changes = self.changes(all);
        Ok(json!({"documentChanges": changes}))
    }

    /// Calls a function with the first project of a document.
    fn in_document<T>(
        &mut self,
        params: &Value,
        each: impl FnOnce(&Analysis, FileId, Encoding) -> T,
    ) -> Result<Option<T>, Failure> {
        let uri = uri_of(params)?;
        let encoding = self.encoding;
        let Some((root, file)) = self.places_of(&uri).into_iter().next() else { return Ok(None) };
        Ok(self.analysis(&root).map(|analysis| each(analysis, file, encoding)))
    }

    fn symbols(&mut self, params: &Value) -> Answer {
        let symbols = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let symbols = analysis.symbols(file);
            symbols
                .iter()
                .map(|symbol| symbol_json(symbol, &text.text, &text.lines, encoding))
                .collect::<Vec<_>>()
        })?;
        Ok(symbols.map_or(Value::Null, Value::from))
    }

    fn workspace_symbols(&mut self, params: &Value) -> Answer {
        const MAX_SYMBOLS: usize = 500;
        let query = params["query"].as_str().unwrap_or_default().to_lowercase();
        let encoding = self.encoding;
        let mut found = Vec::new();
        for root in self.discover() {
            let Some(analysis) = self.analysis(&root) else { continue };
            for name in
                analysis.defines.keys().filter(|name| name.to_str_lossy().to_lowercase().contains(&query))
            {
                for target in analysis.define_targets(name) {
                    if found.len() < MAX_SYMBOLS {
                        let location = location(&analysis.project, &target, encoding);
                        let container = analysis.project.file(target.file).name.clone();
                        found.push(json!({"name": name.to_str_lossy(), "kind": 12, "location": location, "containerName": container}));
                    }
                }
            }
        }
        Ok(Value::from(found))
    }

    fn folding(&mut self, params: &Value) -> Answer {
        let ranges = self.in_document(params, |analysis, file, _| {
            let text = &analysis.project.file(file).text;
            let mut found: Vec<Value> = Vec::new();
            for (range, is_comment) in structure::folding(text.tree.as_ref(), text.outline.as_ref()) {
                let (first, last) = (
                    text.lines.line(range.start),
                    text.lines.line(range.end.saturating_sub(1).max(range.start)),
                );
                if last > first {
                    let mut folding = json!({"startLine": first, "endLine": last});
                    if is_comment {
                        folding["kind"] = json!("comment");
                    }
                    if !found.contains(&folding) {
                        found.push(folding);
                    }
                }
            }
            found
        })?;
        Ok(ranges.map_or(Value::Null, Value::from))
    }

    fn selection(&mut self, params: &Value) -> Answer {
        let positions = params["positions"].as_array().cloned().unwrap_or_default();
        let found = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let one = |position: &Value| {
                let part = |key: &str| position[key].as_u64().unwrap_or(0) as usize;
                let offset = text.lines.offset(&text.text, part("line"), part("character"), encoding);
                let ranges =
                    structure::selection(text.tree.as_ref(), text.outline.as_ref(), offset, text.text.len());
                ranges.into_iter().rev().fold(Value::Null, |parent, range| {
                    let range = text.lines.range(&text.text, range, encoding);
                    if parent.is_null() {
                        json!({"range": range})
                    } else {
                        json!({"range": range, "parent": parent})
                    }
                })
            };
            positions.iter().map(one).collect::<Vec<_>>()
        })?;
        Ok(found.map_or(Value::Null, Value::from))
    }

    fn semantic_tokens(&mut self, params: &Value, in_range: bool) -> Answer {
        let range = params["range"].clone();
        let data = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let Some(tree) = &text.tree else { return Vec::new() };
            let lines = if in_range {
                let line = |key: &str| range[key]["line"].as_u64().unwrap_or(0) as usize;
                line("start")..=line("end")
            } else {
                0..=usize::MAX
            };
            encode_tokens(&structure::semantic_tokens(tree), &text.text, &text.lines, encoding, &lines)
        })?;
        Ok(data.map_or(Value::Null, |data| json!({"data": data})))
    }

    fn signature(&mut self, params: &Value) -> Answer {
        let at = self.at(params)?;
        let Some((root, file)) = at.places.into_iter().next() else { return Ok(Value::Null) };
        let Some(project) = self.project(&root) else { return Ok(Value::Null) };
        let Some(tree) = &project.file(file).text.tree else { return Ok(Value::Null) };
        Ok(match structure::signature(tree, at.offset, &self.functions) {
            Some((label, parameters, active)) => {
                let parameters: Vec<Value> = parameters.iter().map(|label| json!({"label": label})).collect();
                let name = label.split('(').next().unwrap_or_default();
                let about = crate::functions::about(name);
                json!({
                    "signatures": [{"label": label, "documentation": about, "parameters": parameters}],
                    "activeSignature": 0,
                    "activeParameter": active,
                })
            }
            None => Value::Null,
        })
    }

    fn hints(&mut self, params: &Value) -> Answer {
        let range = params["range"].clone();
        let found = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let offset = |key: &str| {
                let part = |name: &str| range[key][name].as_u64().unwrap_or(0) as usize;
                text.lines.offset(&text.text, part("line"), part("character"), encoding)
            };
            let hint = |(at, label): (usize, String)| {
                let (line, character) = text.lines.position(&text.text, at, encoding);
                json!({"position": {"line": line, "character": character}, "label": label, "paddingLeft": true})
            };
            let hints = structure::hints(analysis, file, &(offset("start")..offset("end")));
            hints.into_iter().map(hint).collect::<Vec<_>>()
        })?;
        Ok(found.map_or(Value::Null, Value::from))
    }

    fn actions(&mut self, params: &Value) -> Answer {
        let start = params["range"]["start"].clone();
        let found = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let part = |name: &str| start[name].as_u64().unwrap_or(0) as usize;
            let offset = text.lines.offset(&text.text, part("line"), part("character"), encoding);
            let actions = analysis.actions(file, offset).into_iter();
            actions
                .map(|action| {
                    (action.title, action.kind, edits_of(&analysis.project, &action.edits, encoding))
                })
                .collect::<Vec<_>>()
        })?;
        let actions = found.unwrap_or_default().into_iter().map(|(title, kind, edits)| {
            json!({"title": title, "kind": kind, "edit": {"documentChanges": self.changes(edits)}})
        });
        Ok(Value::from(actions.collect::<Vec<_>>()))
    }

    /// Edits by address, with the versions of the documents that they are for.
    fn changes(&self, edits: BTreeMap<String, Vec<Value>>) -> Vec<Value> {
        let change = |(uri, edits): (String, Vec<Value>)| {
            let version = self.documents.get(&uri).map(|document| document.version);
            json!({"textDocument": {"uri": uri, "version": version}, "edits": edits})
        };
        edits.into_iter().map(change).collect()
    }

    /// What is wrong with the text of a document; what is wrong with its chart is pushed when it has been rendered.
    fn diagnostic(&mut self, params: &Value) -> Answer {
        let uri = uri_of(params)?;
        let Some((root, file)) = self.places_of(&uri).into_iter().next() else {
            return Ok(json!({"kind": "full", "items": []}));
        };
        let Some(project) = self.project(&root) else { return Ok(json!({"kind": "full", "items": []})) };
        let problems = crate::diagnostics::of_text(&project, file);
        Ok(json!({"kind": "full", "items": problems_json(&project, file, &problems, self.encoding)}))
    }

    /// The text of a document that is no file: one in an archive.
    fn content(&mut self, params: &Value) -> Answer {
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        let projects = self.roots_of(&uri);
        for root in projects {
            if let Some(project) = self.project(&root)
                && let Some(file) = project.by_uri.get(&uri)
            {
                return Ok(json!({"text": project.file(*file).text.text}));
            }
        }
        Err(Failure { code: REQUEST_FAILED, message: format!("`{uri}` is not in a chart that is open") })
    }

    /// The problems of a project by address, as JSON.
    pub(super) fn problems_by_uri(
        &self,
        project: &Project,
        problems: &Problems,
    ) -> BTreeMap<String, Vec<Value>> {
        let mut found = BTreeMap::new();
        for (file, list) in problems {
            let uri = project.file(*file).uri.clone();
            found.insert(uri, problems_json(project, *file, list, self.encoding));
        }
        found
    }
}

/// The table of functions, which answers need while the server is borrowed.
fn pintle_functions(server: &Server) -> pintle_gotmpl::Functions {
    server.functions.clone()
}

fn uri_of(params: &Value) -> Result<String, Failure> {
    let uri = params["textDocument"]["uri"].as_str();
    uri.map(uri::normalized)
        .ok_or_else(|| Failure { code: INVALID_PARAMS, message: "the document is missing".to_owned() })
}

fn completion_item(item: &Item, text: &str, lines: &LineIndex, encoding: Encoding) -> Value {
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

fn location(project: &Project, target: &Target, encoding: Encoding) -> Value {
    let file = project.file(target.file);
    let range = file.text.lines.range(&file.text.text, target.start..target.end, encoding);
    json!({"uri": file.uri, "range": range})
}

fn locations(project: &Project, targets: &[Target], encoding: Encoding) -> Vec<Value> {
    targets.iter().map(|target| location(project, target, encoding)).collect()
}

fn distinct(found: Vec<Vec<Value>>) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for value in found.into_iter().flatten() {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    Value::from(all)
}

fn edits_of(project: &Project, edits: &Edits, encoding: Encoding) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    for (file, edits) in edits {
        let source = project.file(*file);
        let edit = |(range, text): &(Range<usize>, String)| json!({"range": source.text.lines.range(&source.text.text, range.clone(), encoding), "newText": text});
        found.insert(source.uri.clone(), edits.iter().map(edit).collect());
    }
    found
}

fn symbol_json(symbol: &Symbol, text: &str, lines: &LineIndex, encoding: Encoding) -> Value {
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
fn encode_tokens(
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
