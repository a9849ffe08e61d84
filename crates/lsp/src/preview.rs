//! What templates write with a set of values, beside the templates: the text, which line came from where, and what the actions
//! and conditions did. A template that fails shows what it wrote until then.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use pintle::ValuesLayer;
use pintle::chart::load_files;
use pintle::render::trace::Branch;
use pintle::render::{Capabilities, PartialFile, Release, RenderTrace, Target, TemplateLine, Templates};
use pintle::values::{NullRules, SchemaCheck, process_dependencies, render_values};
use pintle_tree::{Map, ValuePath};

use crate::project::{FileId, Project};
use crate::scenario::Scenario;

/// The number of lines of a rendered file whose origins are looked for.
const MAX_LINES: usize = 5000;

/// A rendered template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The text, until the template ended or failed.
    pub text: String,
    /// Why it failed.
    pub error: Option<String>,
    /// Where each line came from: files and lines from 0, from the template itself to the definition that wrote it.
    pub lines: Vec<Vec<(FileId, usize)>>,
}

/// Why a line of a rendered template is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// Where it came from, from the template itself to the definition that wrote it; lines from 0.
    pub lines: Vec<(FileId, usize)>,
    /// The values that were read for it.
    pub values: Vec<ValuePath>,
    /// What else was read, as `.Release.Name`.
    pub fields: Vec<String>,
    /// The blocks around it, outermost first, and the values that they depend on.
    pub conditions: Vec<((FileId, usize), Vec<ValuePath>)>,
}

/// What the actions and conditions of a template did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    /// What actions wrote, by a byte of the action; whether it was not always the same.
    pub written: BTreeMap<usize, (String, bool)>,
    /// Which way conditions went, by a byte of the clause.
    pub branches: BTreeMap<usize, Branch>,
    /// How often what is in a template ran, by the first byte.
    pub runs: BTreeMap<usize, u64>,
}

impl Project {
    /// The rendered text of a template with a scenario.
    ///
    /// # Errors
    /// When nothing can be rendered: why.
    pub fn preview(&self, file: FileId, scenario: &Scenario) -> Result<Preview, String> {
        let path = self.previewed_path(file)?;
        render(self, scenario, |files, trace| {
            let found = files.iter().find(|partial| partial.file.path == path);
            let partial = found.ok_or_else(|| {
                format!("`{path}` is not rendered with these values: its chart may be disabled")
            })?;
            let count = partial.file.text.split(|byte| *byte == b'\n').count().min(MAX_LINES);
            let origin = |line: usize| {
                let lines = trace.line(&path, line).map(|line| line.templates).unwrap_or_default();
                lines.iter().filter_map(|line| self.source_line(line)).collect()
            };
            let text = String::from_utf8_lossy(&partial.file.text);
            Ok(Preview {
                // As Helm does after a render.
                text: text.replace("<no value>", ""),
                error: partial.error.as_ref().map(ToString::to_string),
                lines: (1..=count).map(origin).collect(),
            })
        })?
    }

    /// Why a line of a rendered template is there; lines count from 0.
    ///
    /// # Errors
    /// When nothing can be rendered: why.
    pub fn reason(&self, file: FileId, scenario: &Scenario, line: usize) -> Result<Option<Reason>, String> {
        let path = self.previewed_path(file)?;
        render(self, scenario, |_, trace| {
            let line = trace.line(&path, line + 1)?;
            let conditions = line.conditions.iter().filter_map(|(at, reads)| {
                Some((self.source_line(at)?, reads.values.iter().cloned().collect()))
            });
            Some(Reason {
                lines: line.templates.iter().filter_map(|line| self.source_line(line)).collect(),
                values: line.reads.values.into_iter().collect(),
                fields: line.reads.fields.into_iter().collect(),
                conditions: conditions.collect(),
            })
        })
    }

    /// What all templates did with a scenario, by file.
    pub fn deeds(&self, scenario: &Scenario) -> BTreeMap<FileId, Deeds> {
        let found = render(self, scenario, |_, trace| {
            let mut written = trace.written();
            let mut found = BTreeMap::new();
            for file in self.templates() {
                let Some(path) = self.rendered_path(file) else { continue };
                let mark = byte_order_mark(&self.file(file).text.text);
                let written = written.remove(&path).unwrap_or_default();
                let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
                let deeds = Deeds {
                    written: written
                        .into_iter()
                        .map(|(at, written)| (at + mark, (shown(&written.text), written.differs)))
                        .collect(),
                    branches: trace.coverage().branches(&path).map(|(at, way)| (at + mark, way)).collect(),
                    runs: trace.coverage().nodes(&path).map(|(at, count)| (at + mark, count)).collect(),
                };
                if deeds != Deeds::default() {
                    found.insert(file, deeds);
                }
            }
            found
        });
        found.unwrap_or_default()
    }

    fn previewed_path(&self, file: FileId) -> Result<String, String> {
        let source = self.file(file);
        if let Some(error) = source.text.tree.as_ref().and_then(|tree| tree.errors().first()) {
            return Err(format!("line {}: {}", source.text.lines.line(error.range.start) + 1, error.message));
        }
        self.rendered_path(file).ok_or_else(|| format!("`{}` belongs to no chart", source.name))
    }

    fn source_line(&self, line: &TemplateLine) -> Option<(FileId, usize)> {
        Some((self.by_rendered_path(&line.template)?, line.line - 1))
    }
}

/// The length of the mark at the start of a text, which templates are parsed without.
fn byte_order_mark(text: &str) -> usize {
    text.len() - text.trim_start_matches('\u{feff}').len()
}

impl Preview {
    /// The rendered lines that came from a line of a file; if there are none, those of the nearest line before it.
    pub fn lines_of(&self, file: FileId, line: usize) -> Vec<usize> {
        let nearest = self
            .lines
            .iter()
            .flatten()
            .filter(|(other, at)| *other == file && *at <= line)
            .map(|(_, at)| *at)
            .max();
        let Some(nearest) = nearest else { return Vec::new() };
        let here = self.lines.iter().enumerate().filter(|(_, origins)| origins.contains(&(file, nearest)));
        here.map(|(index, _)| index).collect()
    }
}

impl Deeds {
    /// What an action wrote, and whether it was not always the same.
    pub fn written_in(&self, range: &Range<usize>) -> Option<&(String, bool)> {
        self.written.range(range.clone()).next().map(|(_, written)| written)
    }

    /// Which way the condition of a clause went.
    pub fn branch_in(&self, range: &Range<usize>) -> Option<Branch> {
        self.branches.range(range.clone()).next().map(|(_, branch)| *branch)
    }

    /// How often a body ran.
    pub fn runs_in(&self, range: &Range<usize>) -> u64 {
        self.runs.range(range.clone()).next().map_or(0, |(_, count)| *count)
    }
}

/// Renders a project with a scenario, without scripts, a cluster or the network.
fn render<T>(
    project: &Project,
    scenario: &Scenario,
    each: impl FnOnce(&[PartialFile], &RenderTrace) -> T,
) -> Result<T, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let chart = load_files(project.parsable_files()).map_err(|error| text(&error))?;
    let user = match &scenario.text {
        Some(content) => {
            let layer = ValuesLayer::Bytes { name: scenario.name.clone(), content: content.clone() };
            let none = &mut |_: &Path| Err("not a file".to_owned());
            pintle::values::layer(&[layer], none).map_err(|error| text(&error))?
        }
        None => Map::new(),
    };
    let rules = NullRules::Helm4;
    let chart = process_dependencies(chart, &user, rules, &mut Vec::new()).map_err(|error| text(&error))?;
    let refuse = &mut |_: &str| Err("not fetched".to_owned());
    let values = render_values(&chart, &user, rules, SchemaCheck::Skip, refuse, &mut Vec::new());
    let values = values.map_err(|error| text(&error))?;
    let release = Release {
        name: "release-name".to_owned(),
        namespace: "default".to_owned(),
        revision: 1,
        is_upgrade: false,
    };
    let mut target = Target::offline(release, Capabilities::default());
    target.repeatable = true;
    let templates = Templates::parse(&chart, &target).map_err(|error| text(&error))?;
    let (files, trace) = templates.preview(&values, &target);
    Ok(each(&files, &trace))
}
