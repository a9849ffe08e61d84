//! Changes that are offered for a place, and for what is wrong there.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Server;
use super::answers::Answer;
use super::json::{edits_of, uri_of};
use crate::uri;

impl Server {
    pub(super) fn actions(&mut self, params: &Value) -> Answer {
        let range = params["range"].clone();
        let reported = params["context"]["diagnostics"].as_array().cloned().unwrap_or_default();
        let wanted: Vec<String> = params["context"]["only"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|kind| kind.as_str().map(str::to_owned))
            .collect();
        let found = self.in_document(params, |analysis, file, encoding| {
            let text = &analysis.project.file(file).text;
            let offset = |key: &str| {
                let part = |name: &str| range[key][name].as_u64().unwrap_or(0) as usize;
                text.lines.offset(&text.text, part("line"), part("character"), encoding)
            };
            let mut actions = analysis.actions(file, offset("start"));
            for problem in &reported {
                let line = problem["range"]["start"]["line"].as_u64().unwrap_or(0) as usize;
                let fix = &problem["data"]["fix"];
                if let (Some(from), Some(to)) = (fix["from"].as_str(), fix["to"].as_str()) {
                    actions.extend(analysis.fix(file, line, from, to));
                }
            }
            let actions = actions.into_iter().map(|action| {
                (action.title, action.kind, edits_of(&analysis.project, &action.edits, encoding))
            });
            actions.collect::<Vec<_>>()
        })?;
        let mut actions: Vec<Value> = Vec::new();
        for (title, kind, edits) in found.unwrap_or_default() {
            let action =
                json!({"title": title, "kind": kind, "edit": {"documentChanges": self.changes(edits)}});
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
        for problem in &reported {
            let ignore = self.ignore_rule(params, problem["code"].as_str().unwrap_or_default())?;
            actions.extend(ignore.filter(|action| !actions.contains(action)));
        }
        // A client may want those of some kinds only.
        actions.retain(|action| {
            let kind = action["kind"].as_str().unwrap_or_default();
            let fits = |wanted: &String| {
                wanted.is_empty()
                    || kind == wanted
                    || kind.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('.'))
            };
            wanted.is_empty() || wanted.iter().any(fits)
        });
        Ok(Value::from(actions))
    }

    /// Has a rule pass over findings in a file, by `.pintle-check.yaml` of the chart.
    fn ignore_rule(&mut self, params: &Value, rule: &str) -> Result<Option<Value>, super::answers::Failure> {
        if pintle::check::RULES.iter().all(|known| known.name != rule) || rule == "render" {
            return Ok(None);
        }
        let uri = uri_of(params)?;
        let Some((root, file)) = self.places_of(&uri).into_iter().next() else { return Ok(None) };
        let Some(project) = self.project(&root) else { return Ok(None) };
        let Some(path) = project.rendered_path(file) else { return Ok(None) };
        let entry = format!("- rule: {rule}\n  file: {path}\n");
        let title = format!("Ignore `{rule}` in this file");
        let changes = match project.file_named(0, ".pintle-check.yaml") {
            Some(config) => {
                let text = &project.file(config).text;
                let Some(edit) = appended(&text.text, &entry) else { return Ok(None) };
                let edits = crate::rename::Edits::from([(config, vec![edit])]);
                self.changes(edits_of(&project, &edits, self.encoding))
            }
            None => {
                let uri = uri::from_path(&root.join(".pintle-check.yaml"));
                let start = json!({"line": 0, "character": 0});
                let edit =
                    json!({"range": {"start": start, "end": start}, "newText": format!("ignore:\n{entry}")});
                let edits = BTreeMap::from([(uri.clone(), vec![edit])]);
                let create = json!({"kind": "create", "uri": uri, "options": {"ignoreIfExists": true}});
                std::iter::once(create).chain(self.changes(edits)).collect()
            }
        };
        Ok(Some(json!({"title": title, "kind": "quickfix", "edit": {"documentChanges": changes}})))
    }
}

/// The edit that adds an entry to the list `ignore` of a configuration.
fn appended(text: &str, entry: &str) -> Option<(std::ops::Range<usize>, String)> {
    let outline = crate::outline::Outline::read(text);
    let Some(id) = outline.find(0, &[Some("ignore")]).first().copied() else {
        let end = text.trim_end().len();
        let newline = if end == 0 { "" } else { "\n" };
        return Some((end..text.len(), format!("{newline}ignore:\n{entry}")));
    };
    let node = outline.node(id);
    let first = node.children.first().map(|child| outline.node(*child));
    // A list in flow style has no line to add.
    let first = first.filter(|_| !text[node.value.clone()].starts_with('['))?;
    let blanks = " ".repeat(first.indent);
    let lines: Vec<String> = entry.lines().map(|line| format!("{blanks}{line}")).collect();
    Some((node.end..node.end, format!("\n{}", lines.join("\n"))))
}
