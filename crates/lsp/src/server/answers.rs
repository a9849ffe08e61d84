//! The answers to requests, as JSON of the protocol.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use pintle::embedded::ApiCatalog;
use serde_json::{Value, json};

use super::Server;
use super::json::{completion_item, distinct, edits_of, locations, pintle_functions, problems_json, uri_of};
use crate::analysis::Analysis;
use crate::completion::Kubernetes;
use crate::diagnostics::Problems;
use crate::position::Encoding;
use crate::project::{FileId, Project};
use crate::thing::{Target, Thing};

/// Why a request failed.
#[derive(Debug)]
pub struct Failure {
    /// The code of the protocol.
    pub code: i32,
    /// The text.
    pub message: String,
}

/// The code for a request that is refused for a reason that users can understand.
pub(super) const REQUEST_FAILED: i32 = -32803;
const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;

pub(super) type Answer = Result<Value, Failure>;

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
pub(super) struct At {
    pub(super) places: Vec<(PathBuf, FileId)>,
    pub(super) offset: usize,
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
            "textDocument/semanticTokens/full/delta" => self.semantic_tokens_delta(params),
            "textDocument/documentLink" => self.links(params),
            "textDocument/formatting" if self.settings.formatting => self.formatting(params),
            "textDocument/codeLens" => self.lenses(params),
            "codeLens/resolve" => self.resolve_lens(params),
            "textDocument/prepareCallHierarchy" => self.prepare_calls(params),
            "callHierarchy/incomingCalls" => self.incoming_calls(params),
            "callHierarchy/outgoingCalls" => self.outgoing_calls(params),
            "pintle/scenarios" => self.scenarios(params),
            "pintle/preview" => self.preview(params),
            "pintle/previewMap" => self.preview_map(params),
            "pintle/explain" => self.explain(params),
            "workspace/symbol" => self.workspace_symbols(params),
            "workspace/textDocumentContent" => self.content(params),
            _ => Err(Failure { code: METHOD_NOT_FOUND, message: format!("`{method}` is not known") }),
        }
    }

    pub(super) fn at(&mut self, params: &Value) -> Result<At, Failure> {
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
    pub(super) fn things<T>(
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

    pub(super) fn references(&mut self, params: &Value) -> Answer {
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
    pub(super) fn in_document<T>(
        &mut self,
        params: &Value,
        each: impl FnOnce(&Analysis, FileId, Encoding) -> T,
    ) -> Result<Option<T>, Failure> {
        let uri = uri_of(params)?;
        let encoding = self.encoding;
        let Some((root, file)) = self.places_of(&uri).into_iter().next() else { return Ok(None) };
        Ok(self.analysis(&root).map(|analysis| each(analysis, file, encoding)))
    }

    /// Edits by address, with the versions of the documents that they are for.
    pub(super) fn changes(&self, edits: BTreeMap<String, Vec<Value>>) -> Vec<Value> {
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
