//! Which templates of a chart tree a suite renders, by helm-unittest's patterns.

use std::cell::RefCell;
use std::sync::Arc;

use pintle_chart::Chart;
use pintle_regex::Regex;
use pintle_render::{Error, ParsedTemplates, TemplateCache};

/// Returns the path of a template in its chart; `templates/` may be left out.
pub(crate) fn file_name(name: &str) -> String {
    let complete = ["templates", "charts", "crds", "**"].iter().any(|prefix| name.starts_with(prefix));
    if complete { name.to_owned() } else { join("templates", name) }
}

/// Joins and cleans two paths.
pub(crate) fn join(folder: &str, name: &str) -> String {
    pintle_chart::path::clean(&format!("{folder}/{name}"))
}

/// Whether a template is a partial, which is always there.
pub(crate) fn is_partial(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|base| base.starts_with('_'))
}

/// The templates that a suite renders.
pub(crate) struct Selection {
    selected: Vec<Regex>,
    excluded: Vec<Regex>,
    /// The templates of each chart that a test of the suite had, by the subcharts that it enables.
    parsed: RefCell<Vec<(Arc<Chart>, ParsedTemplates)>>,
}

impl Selection {
    /// Makes the patterns of a suite for the chart at `route`; without templates all are selected.
    pub(crate) fn new(route: &str, templates: &[String], excluded: &[String]) -> Self {
        let patterns = |names: &[String]| {
            let regex = |name: &String| Regex::compile(pattern(&join(route, &file_name(name)))).ok();
            names.iter().filter_map(regex).collect()
        };
        let all = ["**".to_owned()];
        let templates = if templates.is_empty() { &all[..] } else { templates };
        Selection { selected: patterns(templates), excluded: patterns(excluded), parsed: RefCell::default() }
    }

    /// The selected templates of a chart.
    ///
    /// # Errors
    /// The first that does not parse.
    pub(crate) fn templates(
        &self,
        chart: &Arc<Chart>,
        cache: &TemplateCache,
    ) -> Result<ParsedTemplates, Error> {
        if let Some((_, parsed)) = self.parsed.borrow().iter().find(|(known, _)| Arc::ptr_eq(known, chart)) {
            return Ok(parsed.clone());
        }
        let parsed = ParsedTemplates::select(chart, &|path| self.contains(path), cache)?;
        self.parsed.borrow_mut().push((Arc::clone(chart), parsed.clone()));
        Ok(parsed)
    }

    /// Whether the template at this path of the tree is rendered, or a partial.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let any = |patterns: &[Regex]| patterns.iter().any(|regex| regex.is_match(path.as_bytes()));
        is_partial(path) || (any(&self.selected) && !any(&self.excluded))
    }
}

/// The regular expression of a name with wildcards, which may match anywhere in a path.
fn pattern(name: &str) -> String {
    let mut pattern = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**") {
            pattern.push_str(r"[0-9a-zA-Z_\-/\.]+");
            rest = after;
            continue;
        }
        match first {
            '*' => pattern.push_str(r"[0-9a-zA-Z_\-_/\.]*"),
            '.' | '+' | '[' | ']' | '?' | '(' | ')' | '|' | '{' | '}' | '^' | '$' => {
                pattern.push('\\');
                pattern.push(first);
            }
            other => pattern.push(other),
        }
        rest = &rest[first.len_utf8()..];
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_wildcards_select_templates() {
        let selects = |templates: &[&str], excluded: &[&str], path: &str| {
            let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            Selection::new("c", &strings(templates), &strings(excluded)).contains(path)
        };
        for (templates, excluded, path, expected) in [
            (&["a.yaml"][..], &[][..], "c/templates/a.yaml", true),
            (&["templates/a.yaml"], &[], "c/templates/a.yaml", true),
            (&["a.yaml"], &[], "c/templates/b.yaml", false),
            (&["a.yaml"], &[], "c/charts/s/templates/a.yaml", false),
            (&["charts/s/templates/a.yaml"], &[], "c/charts/s/templates/a.yaml", true),
            (&["x/*.yaml"], &[], "c/templates/x/a.yaml", true),
            (&["**/a.yaml"], &[], "c/templates/x/a.yaml", true),
            (&[], &[], "c/charts/s/templates/a.yaml", true),
            (&[], &["a.yaml"], "c/templates/a.yaml", false),
            (&["a.yaml"], &["**"], "c/templates/_a.tpl", true),
        ] {
            assert_eq!(selects(templates, excluded, path), expected, "{templates:?} {path}");
        }
    }
}
