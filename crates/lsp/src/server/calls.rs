//! The hierarchy of calls of definitions.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Server;
use super::answers::{Answer, Failure, INVALID_PARAMS};
use crate::analysis::Analysis;
use crate::calls::{Caller, Calls};
use crate::position::Encoding;
use crate::thing::Thing;
use crate::uri;

/// The number of the protocol for functions, and for files.
const FUNCTION: u32 = 12;
const FILE: u32 = 1;

impl Server {
    pub(super) fn prepare_calls(&mut self, params: &Value) -> Answer {
        let encoding = self.encoding;
        let found = self.things(params, |analysis, file, _, thing| {
            let Thing::Template(name) = thing else { return None };
            let mut defines: Vec<_> = analysis.defines.get(&name).into_iter().flatten().collect();
            // What is under the cursor comes first.
            defines.sort_by_key(|(home, _)| *home != file);
            let items = defines.into_iter().map(|(home, _)| Caller::Define(*home, name.clone()));
            Some(items.map(|caller| item(analysis, &caller, encoding)).collect::<Vec<_>>())
        })?;
        let items: Vec<Value> = found.into_iter().flatten().collect();
        Ok(if items.is_empty() { Value::Null } else { Value::from(items) })
    }

    pub(super) fn incoming_calls(&mut self, params: &Value) -> Answer {
        self.calls(params, "from", |analysis, caller| match caller {
            Caller::Define(_, name) => analysis.callers(name),
            Caller::File(_) => Calls::new(),
        })
    }

    pub(super) fn outgoing_calls(&mut self, params: &Value) -> Answer {
        self.calls(params, "to", |analysis, caller| analysis.callees(caller))
    }

    fn calls(&mut self, params: &Value, key: &str, find: impl Fn(&Analysis, &Caller) -> Calls) -> Answer {
        let encoding = self.encoding;
        let (root, caller) = self.caller_of(&params["item"])?;
        let Some(analysis) = self.analysis(&root) else { return Ok(json!([])) };
        let calls = find(analysis, &caller).into_iter().map(|(other, (file, ranges))| {
            let text = &analysis.project.file(file).text;
            let ranges: Vec<Value> =
                ranges.into_iter().map(|range| text.lines.range(&text.text, range, encoding)).collect();
            json!({key: item(analysis, &other, encoding), "fromRanges": ranges})
        });
        Ok(Value::from(calls.collect::<Vec<_>>()))
    }

    /// The definition or file of an item that was sent before.
    fn caller_of(&mut self, item: &Value) -> Result<(PathBuf, Caller), Failure> {
        let invalid = || Failure { code: INVALID_PARAMS, message: "the item is not known".to_owned() };
        let uri = uri::normalized(item["uri"].as_str().ok_or_else(invalid)?);
        let (root, file) = self.places_of(&uri).into_iter().next().ok_or_else(invalid)?;
        let caller = match item["data"]["define"].as_str() {
            Some(name) => Caller::Define(file, name.into()),
            None => Caller::File(file),
        };
        Ok((root, caller))
    }
}

fn item(analysis: &Analysis, caller: &Caller, encoding: Encoding) -> Value {
    let project = &analysis.project;
    let (Caller::Define(file, _) | Caller::File(file)) = caller;
    let source = project.file(*file);
    let detail = project.rendered_path(*file).unwrap_or_else(|| source.name.clone());
    let range = |range| source.text.lines.range(&source.text.text, range, encoding);
    match caller {
        Caller::Define(file, name) => {
            let tree = source.text.tree.as_ref();
            let define = analysis.defines.get(name).into_iter().flatten().find(|(home, _)| home == file);
            let whole = define.and_then(|(_, node)| Some(tree?.range(*node))).unwrap_or(0..0);
            let mut targets = analysis.define_targets(name).into_iter();
            let target = targets.find(|target| target.file == *file);
            let inner = target.map_or(whole.clone(), |target| target.start..target.end);
            json!({
                "name": name.to_str_lossy(), "kind": FUNCTION, "detail": detail, "uri": source.uri,
                "range": range(whole), "selectionRange": range(inner), "data": {"define": name.to_str_lossy()},
            })
        }
        Caller::File(_) => json!({
            "name": source.name, "kind": FILE, "detail": detail, "uri": source.uri,
            "range": range(0..source.text.text.len()), "selectionRange": range(0..0), "data": {},
        }),
    }
}
