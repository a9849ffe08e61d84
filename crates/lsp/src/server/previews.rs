//! Rendered documents, the way from a cursor to them and back, and why their lines are there.

use std::path::PathBuf;
use std::sync::Arc;

use pintle_tree::{Segment as PathSegment, ValuePath};
use serde_json::{Value, json};

use super::Server;
use super::answers::{Answer, Failure, INVALID_PARAMS, REQUEST_FAILED};
use super::json::{location, uri_of};
use crate::preview::Preview;
use crate::project::{FileId, FileKind, Project};
use crate::scenario::Scenario;
use crate::shape::Segment;
use crate::thing::Target;
use crate::uri;

/// A rendered document that a client has asked for.
pub(super) struct Rendered {
    project: Arc<Project>,
    preview: Preview,
}

/// A rendered document as it is now.
struct Shown {
    root: PathBuf,
    project: Arc<Project>,
    file: FileId,
    scenario: Scenario,
    preview: Preview,
    /// Why the text is an older one.
    stale: Option<String>,
}

/// The maximum number of rendered documents that are kept.
const MAX_PREVIEWS: usize = 16;

fn failed(message: impl Into<String>) -> Failure {
    Failure { code: REQUEST_FAILED, message: message.into() }
}

impl Server {
    /// The scenarios of a chart; one can be chosen, for previews and hints.
    pub(super) fn scenarios(&mut self, params: &Value) -> Answer {
        let uri = uri_of(params)?;
        let Some((root, _)) = self.places_of(&uri).into_iter().next() else { return Ok(Value::Null) };
        let Some(project) = self.project(&root) else { return Ok(Value::Null) };
        let scenarios = project.scenarios();
        if let Some(name) = params["choose"].as_str() {
            if !scenarios.iter().any(|scenario| scenario.name == name) {
                return Err(failed(format!("there is no scenario `{name}` in `{}`", project.charts[0].name)));
            }
            self.chosen.insert(root.clone(), name.to_owned());
            self.outdated.insert(root.clone());
        }
        let label = |name: &str| if name.is_empty() { "the chart's own values" } else { name }.to_owned();
        let listed: Vec<Value> = scenarios
            .iter()
            .map(|scenario| json!({"name": scenario.name, "label": label(&scenario.name)}))
            .collect();
        let problems: Vec<String> = project
            .configured
            .iter()
            .filter_map(|scenario| Some(format!("{}: {}", scenario.name, scenario.values.as_ref().err()?)))
            .collect();
        let chosen = self.chosen_scenario(&root, &project).name;
        Ok(json!({"chosen": chosen, "scenarios": listed, "problems": problems}))
    }

    /// The scenario that was chosen for a chart, if there still is one of that name.
    pub(super) fn chosen_scenario(&self, root: &PathBuf, project: &Project) -> Scenario {
        let chosen = self.chosen.get(root).and_then(|name| project.scenario(name));
        chosen.unwrap_or(Scenario { name: String::new(), text: None })
    }

    /// The rendered document of a template: its address, its text, and what is wrong with it.
    pub(super) fn preview(&mut self, params: &Value) -> Answer {
        let uri = uri_of(params)?;
        let Some((root, file)) = self.places_of(&uri).into_iter().next() else {
            return Err(failed(format!("`{uri}` is in no chart of the workspace")));
        };
        let project = self.project(&root).ok_or_else(|| failed("the chart cannot be read"))?;
        if project.file(file).kind != FileKind::Template {
            return Err(failed(format!("`{}` is no template", project.file(file).name)));
        }
        let path = project.rendered_path(file).ok_or_else(|| failed("the template belongs to no chart"))?;
        let scenario = match params["scenario"].as_str() {
            Some(name) => name.to_owned(),
            None => self.chosen_scenario(&root, &project).name,
        };
        let uri = uri::rendered(&root, &path, &scenario);
        let shown = self.shown(&uri)?;
        Ok(json!({
            "uri": uri,
            "scenario": shown.scenario.name,
            "text": text_of(&shown),
            "error": shown.preview.error,
            "stale": shown.stale,
        }))
    }

    /// The text of a document that is no file: a rendered one, or one in an archive.
    pub(super) fn content(&mut self, params: &Value) -> Answer {
        let uri = uri::normalized(params["uri"].as_str().unwrap_or_default());
        if uri.starts_with(uri::RENDERED_SCHEME) {
            return Ok(json!({"text": text_of(&self.shown(&uri)?)}));
        }
        for root in self.roots_of(&uri) {
            if let Some(project) = self.project(&root)
                && let Some(file) = project.by_uri.get(&uri)
            {
                return Ok(json!({"text": project.file(*file).text.text}));
            }
        }
        Err(failed(format!("`{uri}` is not in a chart that is open")))
    }

    /// From a position in a template to the lines of a rendered document, or back.
    pub(super) fn preview_map(&mut self, params: &Value) -> Answer {
        let uri = uri_of(params)?;
        let line = line_of(params)?;
        if uri.starts_with(uri::RENDERED_SCHEME) {
            let shown = self.shown(&uri)?;
            let origins = shown.preview.lines.get(line).cloned().unwrap_or_default();
            let targets: Vec<Value> =
                origins.iter().map(|origin| self.line_location(&shown.project, *origin)).collect();
            return Ok(json!({"targets": targets}));
        }
        let preview = uri::normalized(params["preview"].as_str().unwrap_or_default());
        let shown = self.shown(&preview)?;
        let Some(file) = shown.project.by_uri.get(&uri) else { return Ok(json!({"targets": []})) };
        let targets: Vec<Value> = shown
            .preview
            .lines_of(*file, line)
            .into_iter()
            .map(|line| {
                let at = json!({"line": line, "character": 0});
                json!({"uri": preview, "range": {"start": at, "end": at}})
            })
            .collect();
        Ok(json!({"targets": targets}))
    }

    /// Why a line of a rendered document is there: the template lines, the values with their sources, the conditions.
    pub(super) fn explain(&mut self, params: &Value) -> Answer {
        let uri = uri_of(params)?;
        let line = line_of(params)?;
        let shown = self.shown(&uri)?;
        let reason = shown.project.reason(shown.file, &shown.scenario, line).map_err(failed)?;
        let Some(reason) = reason else { return Ok(Value::Null) };
        let mut text = String::new();
        let mut targets = Vec::new();
        for origin in &reason.lines {
            text.push_str(&format!("{}\n\n", written_line(&shown.project, *origin)));
            targets.push(self.line_location(&shown.project, *origin));
        }
        let mut values = Vec::new();
        for path in &reason.values {
            text.push_str(&format!("- `.Values.{path}`{}\n", self.sources(&shown.root, path, &mut targets)));
            values.push(path.to_string());
        }
        for field in &reason.fields {
            text.push_str(&format!("- `{field}`\n"));
        }
        for (origin, paths) in &reason.conditions {
            text.push_str(&format!("\nin {}\n", written_line(&shown.project, *origin)));
            for path in paths {
                text.push_str(&format!(
                    "- `.Values.{path}`{}\n",
                    self.sources(&shown.root, path, &mut targets)
                ));
            }
        }
        Ok(json!({
            "contents": {"kind": "markdown", "value": text},
            "values": values,
            "targets": targets,
        }))
    }

    /// The files that set a value, in words, and as targets.
    fn sources(&mut self, root: &PathBuf, path: &ValuePath, targets: &mut Vec<Value>) -> String {
        let encoding = self.encoding;
        let Some(analysis) = self.analysis(root) else { return String::new() };
        let segments: Vec<Segment> = path
            .segments()
            .iter()
            .map(|segment| match segment {
                PathSegment::Key(key) => Segment::Key(key.clone()),
                PathSegment::Index(_) => Segment::Any,
            })
            .collect();
        let mut shown = Vec::new();
        for target in analysis.key_targets(0, &segments).into_iter().take(4) {
            let file = analysis.project.file(target.file);
            shown.push(format!("{}:{}", file.name, file.text.lines.line(target.start) + 1));
            let target = location(&analysis.project, &target, encoding);
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        if shown.is_empty() { String::new() } else { format!(" from {}", shown.join(", ")) }
    }

    fn line_location(&self, project: &Project, (file, line): (FileId, usize)) -> Value {
        let source = &project.file(file).text;
        let range = source.lines.line_range(&source.text, line);
        let indent = source.text[range.clone()].len() - source.text[range.clone()].trim_start().len();
        location(project, &Target::new(file, range.start + indent..range.end), self.encoding)
    }

    /// A rendered document. If it cannot be rendered now, its last text.
    fn shown(&mut self, uri: &str) -> Result<Shown, Failure> {
        let invalid = |message: String| Failure { code: INVALID_PARAMS, message };
        let (root, path, name) =
            uri::parse_rendered(uri).ok_or_else(|| invalid(format!("`{uri}` is no rendered document")))?;
        if !self.may_load(&root) {
            return Err(failed(format!("`{}` is outside of the workspace", root.display())));
        }
        let project = self.project(&root).ok_or_else(|| failed("the chart cannot be read"))?;
        let file = project
            .by_rendered_path(&path)
            .ok_or_else(|| failed(format!("there is no template `{path}` any more")))?;
        let scenario = project
            .scenario(&name)
            .ok_or_else(|| failed(format!("there is no scenario `{name}` any more")))?;
        let shown = |project: &Arc<Project>, preview: &Preview, stale| Shown {
            root: root.clone(),
            project: Arc::clone(project),
            file,
            scenario: scenario.clone(),
            preview: preview.clone(),
            stale,
        };
        if let Some(known) = self.previews.get(uri).filter(|known| Arc::ptr_eq(&known.project, &project)) {
            return Ok(shown(&known.project, &known.preview, None));
        }
        match project.preview(file, &scenario) {
            Ok(preview) => {
                if self.previews.len() >= MAX_PREVIEWS {
                    self.previews.pop_first();
                }
                let answer = shown(&project, &preview, None);
                self.previews.insert(uri.to_owned(), Rendered { project, preview });
                Ok(answer)
            }
            Err(error) => match self.previews.get(uri) {
                // Its lines are those of the project that it was rendered from.
                Some(last) if last.project.structure == project.structure => {
                    Ok(shown(&last.project, &last.preview, Some(error)))
                }
                _ => Err(failed(error)),
            },
        }
    }
}

/// The text of a rendered document; what is wrong with it follows as comments, so that lines stay where they are.
fn text_of(shown: &Shown) -> String {
    let mut text = shown.preview.text.clone();
    let mut add = |title: &str, error: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("# {title}\n"));
        error.lines().for_each(|line| text.push_str(&format!("#   {line}\n")));
    };
    if let Some(error) = &shown.preview.error {
        add("The template fails here:", error);
    }
    if let Some(error) = &shown.stale {
        add("This is the last text that could be rendered. Now:", error);
    }
    text
}

fn line_of(params: &Value) -> Result<usize, Failure> {
    let line = params["position"]["line"].as_u64();
    line.map(|line| line as usize)
        .ok_or_else(|| Failure { code: INVALID_PARAMS, message: "the position is missing".to_owned() })
}

fn written_line(project: &Project, (file, line): (FileId, usize)) -> String {
    let source = project.file(file);
    let name = project.rendered_path(file).unwrap_or_else(|| source.name.clone());
    let range = source.text.lines.line_range(&source.text.text, line);
    format!(
        "[{name}:{}]({}#L{})\n```helm\n{}\n```",
        line + 1,
        source.uri,
        line + 1,
        source.text.text[range].trim()
    )
}
