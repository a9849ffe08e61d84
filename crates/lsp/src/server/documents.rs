//! Answers about a document as a whole: symbols, folding, tokens, hints, links, lenses, formatting.

use serde_json::{Value, json};

use super::Server;
use super::answers::{Answer, Failure, INVALID_PARAMS};
use super::json::{encode_tokens, location, pintle_functions, symbol_json, uri_of};
use crate::hints::hints;
use crate::lenses::{Lens, LensKind};
use crate::preview::Deeds;
use crate::project::FileKind;
use crate::structure::STRUCT;
use crate::suites::SuiteOutcome;
use crate::thing::Target;
use crate::{format, structure, uri};

/// The command that runs the tests of a suite: its address, and the name of a test.
pub(super) const RUN_TESTS: &str = "pintle.runTests";
/// The maximum number of documents whose tokens are remembered.
const MAX_TOKENS: usize = 32;

/// The tokens that a client has.
pub(super) struct SentTokens {
    id: String,
    data: Vec<usize>,
}

/// How tests ended, in a few words.
pub(super) fn summary(outcome: &SuiteOutcome) -> String {
    if let Some(error) = &outcome.error {
        return error.lines().next().unwrap_or_default().to_owned();
    }
    let passed = outcome.tests.iter().filter(|test| test.passed && !test.skipped).count();
    let failed = outcome.tests.iter().filter(|test| !test.passed).count();
    if failed == 0 {
        format!("{passed} passed")
    } else {
        format!("{failed} of {} failed", outcome.tests.len())
    }
}

impl Server {
    pub(super) fn symbols(&mut self, params: &Value) -> Answer {
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

    pub(super) fn workspace_symbols(&mut self, params: &Value) -> Answer {
        const MAX_SYMBOLS: usize = 500;
        let query = params["query"].as_str().unwrap_or_default().to_lowercase();
        let encoding = self.encoding;
        let mut found = Vec::new();
        for root in self.discover() {
            let Some(analysis) = self.analysis(&root) else { continue };
            for file in analysis.project.templates() {
                let source = analysis.project.file(file);
                for symbol in analysis.symbols(file).into_iter().filter(|symbol| symbol.kind == STRUCT) {
                    let name = format!("{} {}", symbol.name, symbol.detail);
                    if found.len() < MAX_SYMBOLS && name.to_lowercase().contains(&query) {
                        let target = Target::new(file, symbol.selection);
                        let location = location(&analysis.project, &target, encoding);
                        found.push(json!({"name": name.trim_end(), "kind": STRUCT, "location": location, "containerName": source.name}));
                    }
                }
            }
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

    pub(super) fn folding(&mut self, params: &Value) -> Answer {
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

    pub(super) fn selection(&mut self, params: &Value) -> Answer {
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

    pub(super) fn semantic_tokens(&mut self, params: &Value, in_range: bool) -> Answer {
        let range = params["range"].clone();
        let lines = if in_range {
            let line = |key: &str| range[key]["line"].as_u64().unwrap_or(0) as usize;
            line("start")..=line("end")
        } else {
            0..=usize::MAX
        };
        let Some(data) = self.tokens_of(params, &lines)? else { return Ok(Value::Null) };
        if in_range {
            return Ok(json!({"data": data}));
        }
        let sent = self.sent_tokens(&uri_of(params)?, data);
        Ok(json!({"resultId": sent.id, "data": sent.data}))
    }

    fn tokens_of(
        &mut self,
        params: &Value,
        lines: &std::ops::RangeInclusive<usize>,
    ) -> Result<Option<Vec<usize>>, Failure> {
        self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let Some(tree) = &text.tree else { return Vec::new() };
            encode_tokens(&structure::semantic_tokens(tree), &text.text, &text.lines, encoding, lines)
        })
    }

    /// Remembers what a client gets, so that the next answer can be the difference. What has not changed keeps its name.
    fn sent_tokens(&mut self, uri: &str, data: Vec<usize>) -> &SentTokens {
        let last = self.tokens.remove(uri);
        let id = match last {
            Some(last) if last.data == data => last.id,
            Some(last) => (last.id.parse::<u64>().unwrap_or(0) + 1).to_string(),
            None => "1".to_owned(),
        };
        // Clients ask for the documents that they show.
        if self.tokens.len() >= MAX_TOKENS {
            self.tokens.pop_first();
        }
        self.tokens.entry(uri.to_owned()).or_insert(SentTokens { id, data })
    }

    /// What has changed since the tokens that a client names.
    pub(super) fn semantic_tokens_delta(&mut self, params: &Value) -> Answer {
        let uri = uri_of(params)?;
        let known = params["previousResultId"].as_str().unwrap_or_default();
        let before = self.tokens.get(&uri).filter(|sent| sent.id == known).map(|sent| sent.data.clone());
        let Some(data) = self.tokens_of(params, &(0..=usize::MAX))? else { return Ok(Value::Null) };
        let sent = self.sent_tokens(&uri, data);
        let Some(before) = before else { return Ok(json!({"resultId": sent.id, "data": sent.data})) };
        let after = &sent.data;
        let same = |(left, right): &(&usize, &usize)| left == right;
        let start = before.iter().zip(after).take_while(same).count();
        let most = before.len().min(after.len()) - start;
        let end = before.iter().rev().zip(after.iter().rev()).take(most).take_while(same).count();
        let (removed, added) = (before.len() - start - end, &after[start..after.len() - end]);
        let edits = match (removed, added) {
            (0, []) => json!([]),
            _ => json!([{"start": start, "deleteCount": removed, "data": added}]),
        };
        Ok(json!({"resultId": sent.id, "edits": edits}))
    }

    /// What the template of a document did when it was last rendered.
    fn document_deeds(&mut self, params: &Value) -> Result<Option<Deeds>, Failure> {
        let uri = uri_of(params)?;
        let Some((root, file)) = self.places_of(&uri).into_iter().next() else { return Ok(None) };
        let Some(project) = self.project(&root) else { return Ok(None) };
        Ok(self.deeds_of(&root, &project).and_then(|deeds| deeds.get(&file)).cloned())
    }

    pub(super) fn links(&mut self, params: &Value) -> Answer {
        let found = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let link = |(range, target): (std::ops::Range<usize>, usize)| {
                let target = &analysis.project.file(target).uri;
                json!({"range": text.lines.range(&text.text, range, encoding), "target": target})
            };
            analysis.links(file).into_iter().map(link).collect::<Vec<_>>()
        })?;
        Ok(found.map_or(Value::Null, Value::from))
    }

    pub(super) fn formatting(&mut self, params: &Value) -> Answer {
        let functions = pintle_functions(self);
        let found = self.in_document(params, |analysis, file, encoding| {
            let source = analysis.project.file(file);
            let text = &source.text;
            let edits = match (&text.tree, source.kind) {
                _ if text.too_large => Vec::new(),
                (Some(tree), _) => format::template(tree, &functions),
                (None, FileKind::Values | FileKind::MoreValues) => format::values(&text.text),
                _ => Vec::new(),
            };
            let edit = |(range, new)| {
                json!({"range": text.lines.range(&text.text, range, encoding), "newText": new})
            };
            edits.into_iter().map(edit).collect::<Vec<_>>()
        })?;
        Ok(found.map_or(Value::Null, Value::from))
    }

    pub(super) fn lenses(&mut self, params: &Value) -> Answer {
        let uri = uri_of(params)?;
        let found = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let lens = |lens: Lens| {
                let range = text.lines.range(&text.text, lens.range, encoding);
                let (kind, name) = match lens.kind {
                    LensKind::Uses => ("uses", String::new()),
                    LensKind::Suite => ("suite", String::new()),
                    LensKind::Coverage => ("coverage", String::new()),
                    LensKind::Test(name) => ("test", name),
                };
                json!({"range": range, "data": {"uri": uri, "kind": kind, "name": name}})
            };
            analysis.lenses(file).into_iter().map(lens).collect::<Vec<_>>()
        })?;
        let mut lenses = found.unwrap_or_default();
        lenses.retain(|lens| lens["data"]["kind"] != "coverage" || self.coverage(&uri).is_some());
        Ok(Value::from(lenses))
    }

    /// What a lens says: counting uses takes time, so it is done for lenses on the screen only.
    pub(super) fn resolve_lens(&mut self, params: &Value) -> Answer {
        let mut lens = params.clone();
        let data = params["data"].clone();
        let uri = uri::normalized(data["uri"].as_str().unwrap_or_default());
        let name = data["name"].as_str().unwrap_or_default();
        lens["command"] = match data["kind"].as_str() {
            Some("suite") => {
                let tests = self.tested.get(&uri).map(|tested| &tested.outcome);
                let state = tests.map_or_else(String::new, |outcome| format!(": {}", summary(outcome)));
                json!({"title": format!("Run the tests{state}"), "command": RUN_TESTS, "arguments": [uri]})
            }
            Some("test") => {
                let tests = self.tested.get(&uri).map(|tested| &tested.outcome);
                let test = tests.and_then(|outcome| outcome.tests.iter().find(|test| test.name == name));
                let state = match test {
                    None => String::new(),
                    Some(test) if test.skipped => ": skipped".to_owned(),
                    Some(test) if test.passed => ": passed".to_owned(),
                    Some(test) => {
                        format!(": failed, {}", test.message.lines().next().unwrap_or_default().trim())
                    }
                };
                json!({"title": format!("Run{state}"), "command": RUN_TESTS, "arguments": [uri, name]})
            }
            Some("coverage") => {
                let (ran, all) = self.coverage(&uri).unwrap_or_default();
                json!({"title": format!("Tests run {ran} of {all} lines"), "command": ""})
            }
            Some("uses") => {
                let at = params["range"]["start"].clone();
                let ask = json!({
                    "textDocument": {"uri": uri}, "position": at, "context": {"includeDeclaration": false},
                });
                let found = self.references(&ask)?;
                let count = found.as_array().map_or(0, Vec::len);
                let title = if count == 1 { "1 use".to_owned() } else { format!("{count} uses") };
                json!({"title": title, "command": "pintle.showReferences", "arguments": [uri, at, found]})
            }
            _ => return Err(Failure { code: INVALID_PARAMS, message: "the lens is not known".to_owned() }),
        };
        Ok(lens)
    }

    /// The lines of a template that tests ran, and all.
    fn coverage(&mut self, uri: &str) -> Option<(usize, usize)> {
        let (root, file) = self.places_of(uri).into_iter().next()?;
        let project = self.project(&root)?;
        let name = &project.file(file).name;
        let of_chart = self.tested.values().filter(|tested| tested.root == root);
        let counts = of_chart.filter_map(|tested| tested.outcome.coverage.get(name));
        // Each suite covers what it covers; the best one is a lower bound.
        counts.copied().max()
    }

    pub(super) fn signature(&mut self, params: &Value) -> Answer {
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

    pub(super) fn hints(&mut self, params: &Value) -> Answer {
        let range = params["range"].clone();
        let deeds = self.document_deeds(params)?;
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
            let hints = hints(analysis, file, &(offset("start")..offset("end")), deeds.as_ref());
            hints.into_iter().map(hint).collect::<Vec<_>>()
        })?;
        Ok(found.map_or(Value::Null, Value::from))
    }
}
