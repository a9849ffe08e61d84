//! Hooks whose annotations do not say what their author meant. Helm accepts them: it drops those with an unknown event,
//! and runs an event that is named twice twice.

use pintle_chart::Chart;
use pintle_hooks::Annotations;
use pintle_objects::{Hook, Object, Sorted};
use pintle_tree::{LogLine, Node};

use crate::source_map::{Document, line_in_template, line_of_field};

/// A problem of a hook, with its place in the chart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "embedded"), allow(dead_code, reason = "only rehearsals read all of it"))]
pub(crate) struct HookProblem {
    /// The kind of the object.
    pub(crate) kind: String,
    /// The name of the object.
    pub(crate) name: String,
    /// The template.
    pub(crate) file: String,
    /// The line of the template; 0 if it is not known.
    pub(crate) line: usize,
    /// The line of the rendered document.
    pub(crate) rendered_line: usize,
    /// What is wrong with which object, and what comes of it.
    pub(crate) text: String,
}

impl HookProblem {
    /// The template with its line, as far as it is known.
    pub(crate) fn location(&self) -> String {
        if self.line == 0 { self.file.clone() } else { format!("{}:{}", self.file, self.line) }
    }

    /// The warning of an operation.
    pub(crate) fn warning(&self) -> LogLine {
        LogLine::warn(self.text.clone(), vec![("path", self.location())])
    }
}

/// Finds the problems of all hooks that operations accept. With the chart, they have the lines of its templates.
pub(crate) fn find(sorted: &Sorted<'_>, chart: Option<&Chart>) -> Vec<HookProblem> {
    let dropped = sorted.dropped.iter().map(|hook| (hook, " is neither installed nor run"));
    let others = sorted.hooks.iter().map(|hook| (hook, ""));
    dropped.chain(others).flat_map(|(hook, consequence)| problems(hook, consequence, chart)).collect()
}

fn problems(hook: &Hook<'_>, consequence: &str, chart: Option<&Chart>) -> Vec<HookProblem> {
    let Ok(Node::Map(body)) = pintle_yaml::read_exact(hook.manifest) else { return Vec::new() };
    let annotations = Annotations::from_object(&Object::new(body));
    let problem = |problem: pintle_hooks::Problem| {
        let document = Document {
            file: hook.path.to_owned(),
            text: String::from_utf8_lossy(hook.manifest).into_owned(),
        };
        // Annotations have dots and slashes in their names, which the path must not be split at.
        let parent = line_of_field(&document.text, "metadata.annotations");
        let rendered_line = annotation_line(&document.text, problem.annotation(&annotations), parent);
        HookProblem {
            kind: hook.kind.to_string(),
            name: hook.name.to_string(),
            file: hook.path.to_owned(),
            line: chart.map_or(0, |chart| line_in_template(chart, &document, rendered_line)),
            rendered_line,
            text: format!("{} {}{consequence}: {problem}", hook.kind, hook.name),
        }
    };
    annotations.problems().into_iter().map(problem).collect()
}

/// The line of an annotation at or after the line of its parent; that of the parent if it is not found.
fn annotation_line(text: &str, annotation: &str, parent: usize) -> usize {
    let lines = text.lines().enumerate().skip(parent.saturating_sub(1));
    let is_key = |line: &str| {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        line.strip_prefix(annotation).is_some_and(|rest| rest.starts_with([':', '"', '\'']))
    };
    let found = lines.into_iter().find(|(_, line)| is_key(line)).map(|(index, _)| index + 1);
    found.unwrap_or(parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_chart::File;
    use pintle_objects::Order;

    #[test]
    fn dropped_hooks_and_duplicates_are_found_with_the_line_of_the_template() {
        let template = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n  annotations:\n    \
                        # when\n    \"helm.sh/hook\": {{ .Values.event }}\n";
        let mut chart = Chart::default();
        chart.templates.push(File::new("templates/p.yaml", template.as_bytes()));
        let rendered = |event: &str| {
            template.replace("{{ .Release.Name }}", "x").replace("{{ .Values.event }}", event).into_bytes()
        };
        let all = |event: &str| {
            let files = [("web/templates/p.yaml".to_owned(), rendered(event))];
            let sorted = pintle_objects::sort(&files, Order::Install).expect("objects");
            find(&sorted, Some(&chart))
                .iter()
                .map(|problem| problem.warning().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            all("tset"),
            [
                "level=WARN msg=\"Pod x is neither installed nor run: `tset` is not a hook event; did you mean `test`?\" \
              path=web/templates/p.yaml:7"
            ]
        );
        assert_eq!(
            all("test,test"),
            ["level=WARN msg=\"Pod x: the event `test` is named twice\" path=web/templates/p.yaml:7"]
        );
        assert!(all("test").is_empty());
    }
}
