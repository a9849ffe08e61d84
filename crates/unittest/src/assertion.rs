//! Assertions: which templates and documents they are about, and whether these pass.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node};

use crate::check::{Check, Comparer, Context, KINDS, Kind};
use crate::path::Path;
use crate::selector::{ByTemplate, Selector};
use crate::{AssertionResult, fail};

/// An assertion of a suite.
#[derive(Debug)]
pub(crate) struct Assertion {
    pub(crate) template: String,
    pub(crate) selector: Option<Selector>,
    pub(crate) document_index: Option<usize>,
    pub(crate) not: bool,
    pub(crate) kind: &'static Kind,
    pub(crate) check: Check,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// What the assertions of a test work on.
pub(crate) struct Subject<'s> {
    /// The documents of each rendered template.
    pub(crate) documents: &'s BTreeMap<String, Vec<Node>>,
    pub(crate) rendered: bool,
    pub(crate) post_rendered: bool,
    pub(crate) render_error: Option<&'s str>,
    pub(crate) skip_empty_templates: bool,
    pub(crate) fail_fast: bool,
    pub(crate) quirks: bool,
}

/// Why an assertion without documents is skipped.
const SKIPPED: &str = "skipped as 'documentSelector.skipEmptyTemplates: true' and 'selectedTemplates: empty'";

impl Assertion {
    /// Reads an assertion.
    ///
    /// # Errors
    /// When it has no known type, or more than one, or parameters of wrong types.
    pub(crate) fn read(definition: &Map<Node>) -> Result<Self, String> {
        let selector = match definition.get("documentSelector") {
            Some(Node::Map(selector)) => Some(read_selector(selector)?),
            _ => None,
        };
        let mut found: Option<(&'static Kind, Check)> = None;
        for kind in &KINDS {
            let Some(parameters) = definition.get(kind.name) else { continue };
            if let Some((first, _)) = &found {
                let (first, second) = (first.name, kind.name);
                return Err(format!("assertion type `{first}` and `{second}` is declared duplicately"));
            }
            found = Some((kind, kind.read(parameters)?));
        }
        let Some((kind, check)) = found else { return Err(no_type(definition)) };
        Ok(Assertion {
            template: definition.get("template").and_then(Node::as_str).unwrap_or_default().to_owned(),
            selector,
            document_index: match definition.get("documentIndex") {
                Some(Node::Int(index)) => usize::try_from(*index).ok(),
                _ => None,
            },
            not: definition.get("not").and_then(Node::as_bool).unwrap_or_default(),
            kind,
            check,
        })
    }

    /// Checks the assertion on these templates.
    pub(crate) fn run(
        &self,
        index: usize,
        templates: &[String],
        selection: (Option<usize>, Option<&Selector>),
        subject: &Subject<'_>,
        snapshots: &mut Comparer<'_>,
    ) -> AssertionResult {
        let mut result =
            AssertionResult { index, kind: self.kind.name, not: self.not, ..AssertionResult::default() };
        let documents = self.documents(templates, subject);
        let selected = match select(&documents, selection) {
            Ok(selected) => selected,
            Err(error) => {
                result.info = vec!["Error:".to_owned(), error];
                return result;
            }
        };
        if selected.is_empty() && subject.skip_empty_templates {
            result.passed = true;
            result.skip_reason = Some(SKIPPED);
            return result;
        }
        if selected.is_empty() {
            (result.passed, result.info) = if self.kind.needs_render != subject.rendered {
                (false, vec!["Error: rendered manifest is empty".to_owned()])
            } else {
                self.validate(&[], &[], subject, snapshots)
            };
            return result;
        }
        result.passed = true;
        for (template, documents) in &selected {
            let (shown, passed, mut lines) = self.template(template, documents, subject, snapshots);
            if !passed {
                if shown {
                    result.info.push(format!("Template:\t{template}"));
                }
                result.info.append(&mut lines);
            }
            result.passed &= passed;
        }
        result
    }

    /// The documents of the templates that the assertion is about. A post-renderer may have joined all in one file.
    fn documents<'s>(&self, templates: &[String], subject: &Subject<'s>) -> ByTemplate<'s> {
        let of = |template: &String| {
            let documents = subject.documents.get(template).map_or(&[][..], Vec::as_slice);
            (template.clone(), documents.iter().collect())
        };
        match subject.documents.first_key_value() {
            Some((only, _))
                if subject.post_rendered
                    && subject.documents.len() == 1
                    && only.ends_with("manifest.yaml") =>
            {
                [of(only)].into_iter().collect()
            }
            _ => templates.iter().map(of).collect(),
        }
    }

    /// Checks one template. Returns whether its name belongs before the explanation.
    fn template(
        &self,
        template: &str,
        selected: &[&Node],
        subject: &Subject<'_>,
        snapshots: &mut Comparer<'_>,
    ) -> (bool, bool, fail::Info) {
        let documents = subject.documents.get(template);
        if documents.is_none() && self.kind.needs_render {
            let text = match template {
                "" => "\tassertion.template must be given if testsuite.templates is empty".to_owned(),
                _ => format!("\ttemplate \"{template}\" not exists or not selected in test suite"),
            };
            return (false, false, vec!["Error:".to_owned(), text]);
        }
        let documents: Vec<&Node> = documents.into_iter().flatten().collect();
        if self.kind.needs_render != subject.rendered {
            let text = match documents.first() {
                Some(document) => {
                    let raw = document.get("raw").and_then(Node::as_str);
                    format!("Error: Invalid rendering: {}", raw.unwrap_or("%!s(<nil>)"))
                }
                None => "Error: rendered manifest is empty".to_owned(),
            };
            return (true, false, vec![text]);
        }
        let (passed, info) = self.validate(&documents, selected, subject, snapshots);
        (true, passed, info)
    }

    fn validate(
        &self,
        documents: &[&Node],
        selected: &[&Node],
        subject: &Subject<'_>,
        snapshots: &mut Comparer<'_>,
    ) -> (bool, fail::Info) {
        self.check.validate(&mut Context {
            documents,
            selected,
            negative: self.not != self.kind.antonym,
            snapshots,
            render_error: subject.render_error,
            fail_fast: subject.fail_fast,
            quirks: subject.quirks,
        })
    }
}

fn select<'a>(
    documents: &ByTemplate<'a>,
    (index, selector): (Option<usize>, Option<&Selector>),
) -> Result<ByTemplate<'a>, String> {
    if let Some(selector) = selector.filter(|selector| !selector.path.text().is_empty()) {
        return selector.select(documents);
    }
    let Some(index) = index else { return Ok(documents.clone()) };
    let chosen = |(template, documents): (&String, &Vec<&'a Node>)| match documents.get(index) {
        Some(document) => Ok((template.clone(), vec![*document])),
        None => Err(format!("document index {index} is out of range")),
    };
    documents.iter().map(chosen).collect()
}

/// Reads the selector of an assertion, which must have a path.
fn read_selector(selector: &Map<Node>) -> Result<Selector, String> {
    let Some(path) = selector.get("path").and_then(Node::as_str) else {
        return Err("empty 'documentSelector.path' not supported".to_owned());
    };
    let is_set = |key: &str| selector.get(key).and_then(Node::as_bool) == Some(true);
    Ok(Selector {
        path: Path::new(path),
        value: selector.get("value").cloned().unwrap_or_default(),
        match_many: is_set("matchMany"),
        skip_empty_templates: is_set("skipEmptyTemplates"),
    })
}

fn no_type(definition: &Map<Node>) -> String {
    let known = ["template", "documentIndex", "not"];
    match definition.keys().find(|key| !known.contains(&key.as_str().unwrap_or_default())) {
        Some(key) => format!("Assertion type `{key}` is invalid"),
        None => "no assertion type defined".to_owned(),
    }
}
