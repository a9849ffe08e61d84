//! Which values the templates of a chart read, found without rendering it.
//!
//! [`uses`] follows values through `with`, `range`, variables and included templates, for all charts of a tree. It errs on
//! one side: what it reports may not be read in every render, but what it does not report is not read by templates. Values
//! that Helm itself reads (conditions, tags, imports) are reported too; those that only scripts read are not.

mod effects;
mod metadata;

use std::rc::Rc;

use pintle_chart::Chart;
use pintle_gotmpl::reads::Reads;
pub use pintle_gotmpl::reads::{Segment, Usage};
use pintle_gotmpl::{Set, reads::Read};
use pintle_tree::{Map, Node, Str};

use crate::engine::{Templates, charts};
use crate::{Capabilities, Error, Release, Target};

/// A value that is read, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueUse {
    /// The path from the values of the root chart. Globals are under `global`, whichever chart reads them. An empty path
    /// is all values of the root chart.
    pub path: Vec<Segment>,
    /// The file, as in `root/charts/sub/templates/x.yaml`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 0.
    pub column: usize,
    /// What is done with it.
    pub usage: Usage,
}

/// The values that a chart reads.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// In the order of their paths.
    pub uses: Vec<ValueUse>,
    /// Whether values are executed as templates (`tpl`). Templates in values.yaml are followed, others are not known.
    pub evaluates: bool,
    /// Whether some templates were not followed to the end, so that more values may be read.
    pub incomplete: bool,
}

impl Uses {
    /// Whether the value at a path is read, or something below it, or something above it as a whole. Items of lists are
    /// [`Segment::Any`].
    pub fn reads(&self, path: &[Segment]) -> bool {
        self.uses.iter().any(|found| found.reads(path))
    }
}

impl ValueUse {
    fn reads(&self, path: &[Segment]) -> bool {
        let matches = |(left, right): (&Segment, &Segment)| {
            left == right || *left == Segment::Any || *right == Segment::Any
        };
        // A test of a map, as `if .Values.a`, does not read what is below it.
        let whole = self.usage == Usage::Used || self.path.len() >= path.len();
        whole && self.path.iter().zip(path).all(matches)
    }
}

/// Finds the values that the templates of a chart and its subcharts read. The dependencies of the chart have been
/// processed: its subcharts are those that are enabled, under their aliases.
///
/// # Errors
/// The first template that does not parse.
pub fn uses(chart: &Chart) -> Result<Uses, Error> {
    let release = Release {
        name: "release".to_owned(),
        namespace: "default".to_owned(),
        revision: 1,
        is_upgrade: false,
    };
    let target = Target::offline(release, Capabilities::default());
    let templates = Templates::parse(chart, &target)?;
    let mut found = Uses::default();
    for (index, (member, path)) in charts(chart).into_iter().enumerate() {
        let prefix = prefix(chart, &path);
        let mut reads = templates.set().reads(templates.rendered(index), &effects::effect);
        if reads.evaluates {
            follow_values(templates.set(), member, &path, &mut reads);
        }
        found.evaluates |= reads.evaluates;
        found.incomplete |= reads.incomplete;
        found.uses.extend(reads.reads.iter().filter_map(|read| value_use(read, &prefix)));
        metadata::add(member, &path, &prefix, &mut found.uses);
    }
    found.uses.sort();
    found.uses.dedup();
    Ok(found)
}

/// The names of the charts above a chart and its own, without the root: where its values are.
fn prefix(root: &Chart, path: &str) -> Vec<Str> {
    let below = path.get(root.name().len()..).unwrap_or_default();
    below.split("/charts/").skip(1).map(Str::from).collect()
}

/// Text in values.yaml that has actions is executed by `tpl`, with the context of the chart.
fn follow_values(set: &Set, chart: &Chart, path: &str, reads: &mut Reads) {
    let mut texts = Vec::new();
    collect_templates(&chart.values, &mut texts);
    let set = Rc::new(set.clone());
    for text in texts {
        // A definition in one text must not be seen by the next.
        let mut overlay = set.overlay();
        let name = format!("{path}/values.yaml");
        // Text that contains `{{` but does not parse is not a template.
        if overlay.parse(name.as_str(), text.clone()).is_err() {
            continue;
        }
        let more = overlay.reads([name.as_str()], &effects::effect);
        let offset = chart.values_text().and_then(|values| line_of(values, &text));
        reads.reads.extend(more.reads.into_iter().map(|mut read| {
            if read.source == name.as_str() {
                read.line += offset.unwrap_or(0);
            }
            read
        }));
        reads.incomplete |= more.incomplete;
    }
}

/// The number of lines in values.yaml before the first template line of a text.
fn line_of(values: &[u8], text: &Str) -> Option<usize> {
    let text = text.to_str_lossy();
    let first = text.lines().find(|line| line.contains("{{"))?.trim();
    String::from_utf8_lossy(values).lines().position(|line| line.contains(first))
}

fn collect_templates(values: &Map<Node>, into: &mut Vec<Str>) {
    fn visit(node: &Node, into: &mut Vec<Str>) {
        match node {
            Node::Str(text) if text.as_str().is_some_and(|text| text.contains("{{")) => {
                into.push(text.clone())
            }
            Node::List(items) => items.iter().for_each(|item| visit(item, into)),
            Node::Map(entries) => entries.values().for_each(|value| visit(value, into)),
            _ => {}
        }
    }
    values.values().for_each(|value| visit(value, into));
}

/// A read of the context as a read of values, if it is one.
fn value_use(read: &Read, prefix: &[Str]) -> Option<ValueUse> {
    let mut prefix = prefix.to_vec();
    let mut path = read.path.as_slice();
    while let [Segment::Key(first), Segment::Key(chart), rest @ ..] = path
        && *first == "Subcharts"
    {
        prefix.push(chart.clone());
        path = rest;
    }
    let below = match path {
        // The whole context is used, and the values with it.
        [] | [Segment::Any] => &[],
        [Segment::Key(first), rest @ ..] if *first == "Values" => rest,
        _ => return None,
    };
    // `if .` reads no value.
    if path.is_empty() && read.usage == Usage::Tested {
        return None;
    }
    Some(ValueUse {
        path: absolute(&prefix, below),
        file: read.source.to_str_lossy().into_owned(),
        line: read.line,
        column: read.column,
        usage: read.usage,
    })
}

fn absolute(prefix: &[Str], below: &[Segment]) -> Vec<Segment> {
    match below {
        // Helm copies globals from the root chart into all subcharts.
        [Segment::Key(first), ..] if *first == "global" => below.to_vec(),
        _ => prefix.iter().cloned().map(Segment::Key).chain(below.iter().cloned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use pintle_chart::File;
    use pintle_chart::metadata::Dependency;

    use super::*;

    fn chart(name: &str, templates: &[(&str, &str)], values: &str) -> Chart {
        let mut chart = Chart::default();
        chart.metadata.name = name.to_owned();
        chart.templates = templates.iter().map(|(name, text)| File::new(*name, *text)).collect();
        chart.values = pintle_yaml::read_map(values.as_bytes()).expect("values");
        chart.raw = vec![File::new("values.yaml", values)];
        chart
    }

    fn shown(chart: &Chart) -> Vec<String> {
        let uses = uses(chart).expect("templates that parse");
        let texts = uses.uses.iter().map(|found| {
            let segments = found.path.iter().map(|segment| match segment {
                Segment::Key(key) => key.to_str_lossy().into_owned(),
                Segment::Any => "*".to_owned(),
            });
            let test = if found.usage == Usage::Tested { "?" } else { "" };
            format!("{}{test} {}:{}", segments.collect::<Vec<_>>().join("."), found.file, found.line)
        });
        texts.collect()
    }

    #[test]
    fn values_of_subcharts_are_below_their_names_and_globals_are_shared() {
        let mut root = chart(
            "root",
            &[("templates/a.yaml", "{{ .Values.sub.x }}\n{{ .Subcharts.sub.Values.y }}")],
            "{}",
        );
        let text = "{{ .Values.z }}{{ .Values.global.g }}{{ .Release.Name }}";
        root.subcharts.push(chart("sub", &[("templates/b.yaml", text)], "{}"));
        assert_eq!(
            shown(&root),
            [
                "global.g root/charts/sub/templates/b.yaml:1",
                "sub.x root/templates/a.yaml:1",
                "sub.y root/templates/a.yaml:2",
                "sub.z root/charts/sub/templates/b.yaml:1",
            ]
        );
    }

    #[test]
    fn a_whole_context_given_to_a_function_is_every_value() {
        let root = chart("root", &[("templates/a.yaml", "{{ toYaml . }}")], "{}");
        let found = uses(&root).expect("templates that parse");
        assert!(found.reads(&[Segment::Key("a".into()), Segment::Key("b".into())]));
    }

    #[test]
    fn templates_in_values_are_followed_when_tpl_is_used() {
        let values = "host: a\nlist:\n  - \"{{ .Values.domain }}\"\n";
        let root = chart("root", &[("templates/a.yaml", "{{ tpl (index .Values.list 0) . }}")], values);
        assert_eq!(shown(&root), ["domain root/values.yaml:3", "list.* root/templates/a.yaml:1"]);
    }

    #[test]
    fn conditions_and_missing_charts_are_read_by_helm() {
        let mut root = chart("root", &[], "{}");
        let dependency = Dependency {
            name: "db".to_owned(),
            condition: "db.enabled,global.db".to_owned(),
            tags: vec!["data".to_owned()],
            ..Dependency::default()
        };
        root.metadata.dependencies.push(dependency);
        root.raw.push(File::new(
            "Chart.yaml",
            "name: root\ndependencies:\n- name: db\n  condition: db.enabled,global.db\n",
        ));
        assert_eq!(
            shown(&root),
            [
                "db root/Chart.yaml:3",
                "db.enabled? root/Chart.yaml:4",
                "global.db? root/Chart.yaml:4",
                "tags.data? root/Chart.yaml:3",
            ]
        );
    }

    #[test]
    fn a_value_is_read_by_what_reads_above_or_below_it() {
        let text = "{{ toYaml .Values.whole }}{{ if .Values.tested }}{{ end }}{{ .Values.map.key }}{{ range .Values.list }}{{ .a }}{{ end }}";
        let root = chart("root", &[("templates/a.yaml", text)], "{}");
        let found = uses(&root).expect("templates that parse");
        let key = |key: &str| Segment::Key(key.into());
        assert!(found.reads(&[key("whole"), key("x")]) && found.reads(&[key("map")]));
        assert!(found.reads(&[key("tested")]) && !found.reads(&[key("tested"), key("x")]));
        assert!(found.reads(&[key("list"), Segment::Any, key("a")]));
        assert!(!found.reads(&[key("list"), Segment::Any, key("b")]) && !found.reads(&[key("other")]));
    }
}
