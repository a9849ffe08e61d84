//! Rendered text that is not YAML, or no Kubernetes object.

use pintle::objects;
use pintle::render::TemplateLine;

use super::excerpt::excerpt;
use super::subject::Subject;
use super::yaml::{Diagnosis, diagnose};
use crate::commands::values::report::source_text;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// Improves the failure of a document that does not parse.
pub(super) fn improve(failure: &mut Failure, subject: &Subject, cause: &objects::Error) {
    let objects::Error::Document { path, index, reason, .. } = cause else { return };
    let Some(explanation) = subject.explanation() else { return };
    let Some(text) = explanation.rendered(path) else { return };
    let text = String::from_utf8_lossy(text);
    let Some((before, document)) = document(&text, *index) else { return };
    // A template that is not YAML only because of a value is right but for that value.
    let found = match pintle_yaml::read(document.as_bytes()) {
        Err(error) => diagnose(document, &error.to_string()),
        Ok(_) => wrong_head(document, reason),
    };
    let rendered_line = document.lines().nth(found.line - 1).unwrap_or_default();
    let explained = explanation.explain_text_line(path, before + found.line);
    let (templates, values) = explained.unwrap_or_default();
    let written = templates.iter().find(|at| at.template == *path).or(templates.last());
    if let Some(block) = unindented_block(subject, path, before + found.line) {
        return show_block(failure, subject, path, &block);
    }
    failure.own =
        Some(format!("`{path}` renders to text that is not a Kubernetes object: {}", found.problem));
    failure.causes.clear();
    failure.excerpt = Some(shown(subject, written, path, &found, rendered_line));
    let value = values.iter().find(|value| matches!(value.value, pintle::tree::Node::Str(_)));
    failure.hint = Some(match value {
        Some(value) if found.hint.starts_with("write it in quotes") => format!(
            "the value `{}` is set by {}; quote it in the template: `{{{{ .Values.{} | quote }}}}`",
            value.path,
            source_text(value.origin.as_ref()),
            value.path
        ),
        _ => advice(subject, written, &found),
    });
}

/// Labels and annotations that are not text. The decoder says neither which one, nor of which object.
pub(super) fn text_fields(failure: &mut Failure, invocation: &Invocation<'_>) {
    let all = [failure.own.as_ref(), Some(&failure.text)].into_iter().flatten().chain(&failure.causes);
    let all: Vec<&str> = all.map(String::as_str).collect();
    let all = all.join(" ");
    let field = all.split("ObjectMeta.metadata.").nth(1).and_then(|rest| rest.split(' ').next());
    let Some(field) = field.filter(|field| matches!(*field, "labels" | "annotations")).map(str::to_owned)
    else {
        return;
    };
    let subject = Subject::of(invocation);
    let Some(explanation) = subject.explanation() else { return };
    for (file, text) in explanation.rendered_files() {
        let text = String::from_utf8_lossy(text);
        let Some((at, key, value)) = value_that_is_no_text(&text, &field) else { continue };
        let written = explanation.explain_text_line(file, at).and_then(|(templates, _)| {
            templates.iter().find(|at| at.template == file).or(templates.last()).cloned()
        });
        failure.causes.clear();
        failure.own = Some(format!("{field} are text, and `{key}` is {value}"));
        failure.excerpt =
            Some(match written.as_ref().and_then(|it| Some((it, source_line(&subject, it)?))) {
                Some((it, source)) => {
                    let column = source.len() - source.trim_start().len();
                    excerpt(&it.template, it.line, column, &source)
                }
                None => format!("  --> {file}:{at} as rendered"),
            });
        failure.hint = Some("write `| quote` behind the value in the template, or set it as text".to_owned());
        return;
    }
}

/// The first entry of the labels or annotations whose value is a number or a switch: line, key and value.
fn value_that_is_no_text(text: &str, field: &str) -> Option<(usize, String, String)> {
    let mut depth = None;
    for (at, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if line.trim_end().strip_suffix(':').is_some_and(|key| key.trim_start() == field) {
            depth = Some(indent);
            continue;
        }
        if depth.is_none_or(|depth| indent <= depth) {
            depth = None;
            continue;
        }
        let Some((key, value)) = line.trim().split_once(": ") else { continue };
        let value = value.split(" #").next().unwrap_or(value).trim();
        let is_switch = ["true", "false", "yes", "no", "on", "off"].contains(&value.to_lowercase().as_str());
        if value.parse::<f64>().is_ok() || is_switch {
            return Some((at + 1, key.to_owned(), value.to_owned()));
        }
    }
    None
}

/// How many lines above a mistake may have caused it.
const ABOVE: usize = 40;

/// The template line above a rendered line that prints a text of several lines without indenting it.
fn unindented_block(subject: &Subject, path: &str, line: usize) -> Option<TemplateLine> {
    let explanation = subject.explanation()?;
    (line.saturating_sub(ABOVE)..=line).rev().filter(|line| *line > 0).find_map(|line| {
        let (templates, _) = explanation.explain_text_line(path, line)?;
        let at = templates.into_iter().find(|at| at.template == path)?;
        let source = source_line(subject, &at)?;
        let prints_lines = source.contains("toYaml") || source.contains("tpl ");
        (prints_lines && !source.contains("indent")).then_some(at)
    })
}

fn show_block(failure: &mut Failure, subject: &Subject, path: &str, at: &TemplateLine) {
    let source = source_line(subject, at).unwrap_or_default();
    let column = source.len() - source.trim_start().len();
    failure.own =
        Some(format!("`{path}` renders to text that is not YAML: a text of several lines is not indented"));
    failure.causes.clear();
    failure.excerpt = Some(excerpt(&at.template, at.line, column, &source));
    failure.hint = Some(
        "end the action with `| nindent N`, where N is the number of blanks before its lines, and begin it with `{{-`"
            .to_owned(),
    );
}

/// The template's line, and what it renders to.
fn shown(
    subject: &Subject,
    written: Option<&TemplateLine>,
    path: &str,
    found: &Diagnosis,
    rendered_line: &str,
) -> String {
    let source = written.and_then(|at| Some((at, source_line(subject, at)?)));
    match source {
        Some((at, source)) if source.trim() == rendered_line.trim() => {
            let column = source.len() - source.trim_start().len();
            excerpt(&at.template, at.line, column, &source)
        }
        Some((at, source)) => {
            let column = source.len() - source.trim_start().len();
            let rendered: String = rendered_line.chars().take(120).collect();
            format!(
                "{}\n  which renders to:\n    {rendered}",
                excerpt(&at.template, at.line, column, &source)
            )
        }
        None => excerpt(&format!("{path}, as rendered"), found.line, found.column, rendered_line),
    }
}

/// The text of a line of a template.
pub(super) fn source_line(subject: &Subject, at: &TemplateLine) -> Option<String> {
    let chart = subject.explanation()?.chart();
    let text = template_text(chart, &at.template)?;
    text.lines().nth(at.line.checked_sub(1)?).map(str::to_owned)
}

/// The text of a template by its full path, as in `root/charts/sub/templates/x.yaml`.
fn template_text(chart: &pintle::chart::Chart, path: &str) -> Option<String> {
    let (_, rest) = path.split_once('/')?;
    if let Some(rest) = rest.strip_prefix("charts/") {
        let name = rest.split('/').next()?;
        let mut subcharts = chart.subcharts.iter().filter(|subchart| subchart.name() == name);
        return subcharts.find_map(|subchart| template_text(subchart, rest));
    }
    let file = chart.templates.iter().chain(&chart.files).find(|file| file.name == rest)?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

fn advice(subject: &Subject, written: Option<&TemplateLine>, found: &Diagnosis) -> String {
    let source = written.and_then(|at| source_line(subject, at)).unwrap_or_default();
    let is_block = ["toYaml", "include", "tpl"].iter().any(|function| source.contains(function));
    if is_block && !source.contains("indent") {
        return "text of several lines needs the indentation of its place: end the action with `| nindent N`, and begin it \
                with `{{-`"
            .to_owned();
    }
    if is_block {
        return format!("{}; see whether the number of `nindent` is that of the line's place", found.hint);
    }
    format!("{}; `--debug` prints what was rendered", found.hint)
}

/// The document with this index among those that are not empty, and the number of lines before it.
fn document(text: &str, index: usize) -> Option<(usize, &str)> {
    let mut start = 0;
    let mut found = Vec::new();
    for (at, line) in line_offsets(text) {
        if line.trim_end() == "---" {
            found.push((start, &text[start..at]));
            start = at + line.len();
        }
    }
    found.push((start, &text[start..]));
    let is_object = |(_, document): &&(usize, &str)| {
        document.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
    };
    let (start, document) = found.iter().filter(is_object).nth(index).or(found.iter().find(is_object))?;
    Some((text[..*start].matches('\n').count(), document))
}

fn line_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

/// A document that is YAML, but whose head is wrong, such as a name that is a number.
fn wrong_head(document: &str, reason: &str) -> Diagnosis {
    // As in `json: cannot unmarshal number into Go struct field .metadata.name of type string`.
    let field =
        reason.split("Go struct field ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let key = field.rsplit('.').next().unwrap_or_default();
    let is_key = |line: &&str| !key.is_empty() && line.trim_start().starts_with(&format!("{key}:"));
    let at = document.lines().enumerate().filter(|(_, line)| is_key(line));
    let found = at.map(|(at, _)| at + 1).next().unwrap_or(1);
    let kind = reason.split("cannot unmarshal ").nth(1).and_then(|rest| rest.split(' ').next());
    let problem = match (key, kind) {
        ("", _) | (_, None) => reason.to_owned(),
        (key, Some(kind)) => format!("`{key}` is a {kind}, and must be text"),
    };
    Diagnosis { line: found, column: 0, problem, hint: "write it in quotes, as `| quote` does".to_owned() }
}
