//! Rendered text that is not YAML, or no Kubernetes object.

use pintle::objects;
use pintle::render::TemplateLine;

use super::excerpt::excerpt;
use super::subject::Subject;
use super::yaml::{Diagnosis, diagnose};
use crate::commands::values::report::source_text;
use crate::failure::Failure;

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
