//! The order between subcharts and objects that a chart requests, by the annotations of HIP-0025.
//!
//! Objects name a group and the groups that must be ready before them; charts name the subcharts that must be ready
//! before their own objects, or before another subchart. From these [`stages`] computes numbers: objects of one stage are
//! applied together, when all that the next stage depends on are ready. A chart without such annotations has no stages.

use std::collections::{BTreeMap, BTreeSet};

use pintle_objects::Object;

/// The annotation with the group of an object.
pub const RESOURCE_GROUP: &str = "helm.sh/resource-group";
/// The annotation with the groups, of the same chart, that must be ready before an object is applied. Kubernetes does not
/// accept this key, so the annotation is never sent.
pub const DEPENDS_ON_GROUPS: &str = "helm.sh/depends-on/resource-groups";
/// The annotation in Chart.yaml with the subcharts that must be ready before the chart's own objects are applied.
pub const DEPENDS_ON_SUBCHARTS: &str = "helm.sh/depends-on/subcharts";

/// An order between two charts of a tree. Charts are named by their folder, as in `# Source:` comments: `web/charts/db`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartOrder {
    /// The chart that comes later.
    pub chart: String,
    /// Whether its subcharts come later, too.
    pub with_subcharts: bool,
    /// The chart that comes first, with its subcharts.
    pub after: String,
}

/// An object and the folder of the chart that it comes from.
#[derive(Clone, Copy, Debug)]
pub struct ChartObject<'a> {
    /// The folder of the chart, as in `# Source:` comments.
    pub chart: &'a str,
    /// The object.
    pub object: &'a Object,
}

/// The stages of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// The stage of each object, counted from 0.
    pub stages: Vec<usize>,
    /// Whether others depend on the object, so that it must be ready before the next stage begins.
    pub is_awaited: Vec<bool>,
    /// Annotations that have no effect, for the user.
    pub warnings: Vec<String>,
}

/// Why there is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} depend on each other: remove one of these dependencies", .0.join(" and "))]
pub struct DependencyCycle(pub Vec<String>);

impl Stages {
    /// The number of stages.
    pub fn count(&self) -> usize {
        self.stages.iter().max().map_or(0, |last| last + 1)
    }
}

/// Reads a list of names from an annotation: JSON, a YAML list on one line, or names separated by commas.
pub fn names(text: &str) -> Vec<String> {
    let text = text.trim();
    // The three notations differ in brackets and quotes only, and names of groups and charts have neither.
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let names = inner.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Computes the stages of objects. Returns `None` if nothing depends on anything.
///
/// # Errors
/// Groups or charts that depend on each other.
pub fn stages(
    objects: &[ChartObject<'_>],
    order: &[ChartOrder],
) -> Result<Option<Stages>, Box<DependencyCycle>> {
    let mut graph = Graph::default();
    let members = graph.add_objects(objects);
    graph.add_remainders();
    graph.add_charts(order);
    if graph.nodes.iter().all(|node| node.after.is_empty()) && graph.warnings.is_empty() {
        return Ok(None);
    }
    let levels = graph.levels()?;
    let awaited: BTreeSet<usize> = graph.nodes.iter().flat_map(|node| node.after.iter().copied()).collect();
    Ok(Some(Stages {
        stages: members.iter().map(|node| levels[*node]).collect(),
        is_awaited: members.iter().map(|node| awaited.contains(node)).collect(),
        warnings: graph.warnings,
    }))
}

/// Objects of one chart that are applied together.
#[derive(Debug)]
struct GraphNode {
    chart: String,
    /// `None` for the objects that come after all groups of the chart.
    group: Option<String>,
    /// What must be ready before.
    after: BTreeSet<usize>,
}

impl GraphNode {
    fn name(&self) -> String {
        match &self.group {
            Some(group) => format!("group {group} of chart {}", chart_name(&self.chart)),
            None => format!("chart {}", chart_name(&self.chart)),
        }
    }
}

/// `web/db` for the folder `web/charts/db`.
fn chart_name(folder: &str) -> String {
    folder.replace("/charts/", "/")
}

#[derive(Default)]
struct Graph {
    nodes: Vec<GraphNode>,
    index: BTreeMap<(String, Option<String>), usize>,
    warnings: Vec<String>,
}

impl Graph {
    fn node(&mut self, chart: &str, group: Option<String>) -> usize {
        *self.index.entry((chart.to_owned(), group.clone())).or_insert_with(|| {
            self.nodes.push(GraphNode { chart: chart.to_owned(), group, after: BTreeSet::new() });
            self.nodes.len() - 1
        })
    }

    /// Adds a node for each group. Returns the node of each object.
    fn add_objects(&mut self, objects: &[ChartObject<'_>]) -> Vec<usize> {
        let grouped = objects.iter().filter_map(|entry| {
            Some((entry.chart, entry.object.annotation(RESOURCE_GROUP).filter(|group| !group.is_empty())?))
        });
        let known: BTreeSet<(&str, &str)> = grouped.collect();
        // Groups that others depend on, and groups with a member that depends on others. All others are isolated.
        let mut sequenced: BTreeSet<(&str, String)> = BTreeSet::new();
        for entry in objects {
            let after = depends_on(entry.object);
            if let (false, Some(group)) = (after.is_empty(), entry.object.annotation(RESOURCE_GROUP)) {
                sequenced.insert((entry.chart, group.to_owned()));
            }
            sequenced.extend(after.into_iter().map(|group| (entry.chart, group)));
        }
        objects
            .iter()
            .map(|entry| {
                let after = depends_on(entry.object);
                let group = entry.object.annotation(RESOURCE_GROUP).filter(|group| !group.is_empty());
                let missing: Vec<&String> =
                    after.iter().filter(|group| !known.contains(&(entry.chart, group.as_str()))).collect();
                if !missing.is_empty() {
                    self.warn_of_missing(entry, &missing);
                    return self.node(entry.chart, None);
                }
                let in_sequence =
                    group.is_some_and(|group| sequenced.contains(&(entry.chart, group.to_owned())));
                if after.is_empty() && !in_sequence {
                    return self.node(entry.chart, None);
                }
                // Objects without a group that depend on the same groups are applied together.
                let name = group.map_or_else(|| format!("({})", after.join(", ")), str::to_owned);
                let node = self.node(entry.chart, Some(name));
                for group in after {
                    let first = self.node(entry.chart, Some(group));
                    self.nodes[node].after.insert(first);
                }
                node
            })
            .collect()
    }

    fn warn_of_missing(&mut self, entry: &ChartObject<'_>, missing: &[&String]) {
        let (kind, name) = (entry.object.kind(), entry.object.name());
        let groups: Vec<&str> = missing.iter().map(|group| group.as_str()).collect();
        self.warnings.push(format!(
            "{kind} {name} depends on {}, which chart {} does not have: it is applied last",
            groups.join(", "),
            chart_name(entry.chart)
        ));
    }

    /// Objects outside of groups come after all groups of their chart.
    fn add_remainders(&mut self) {
        for (key, remainder) in &self.index {
            if key.1.is_none() {
                let groups = self.index.iter().filter(|(other, _)| other.0 == key.0 && other.1.is_some());
                let groups: Vec<usize> = groups.map(|(_, node)| *node).collect();
                self.nodes[*remainder].after.extend(groups);
            }
        }
    }

    fn add_charts(&mut self, order: &[ChartOrder]) {
        let is_in = |node: &GraphNode, chart: &str| {
            node.chart == chart
                || node.chart.strip_prefix(chart).is_some_and(|rest| rest.starts_with("/charts/"))
        };
        for rule in order {
            // Only nodes that have objects: a subchart that is disabled or renders nothing delays no other.
            let first = self.nodes.iter().enumerate().filter(|(_, node)| is_in(node, &rule.after));
            let first: Vec<usize> = first.map(|(index, _)| index).collect();
            for node in &mut self.nodes {
                if node.chart == rule.chart || rule.with_subcharts && is_in(node, &rule.chart) {
                    node.after.extend(first.iter().copied());
                }
            }
        }
    }

    /// The length of the longest path to each node.
    fn levels(&self) -> Result<Vec<usize>, Box<DependencyCycle>> {
        let mut levels: Vec<Option<usize>> = vec![None; self.nodes.len()];
        loop {
            let mut is_done = true;
            let mut has_moved = false;
            for (index, node) in self.nodes.iter().enumerate() {
                if levels[index].is_some() {
                    continue;
                }
                let before: Option<Vec<usize>> = node.after.iter().map(|first| levels[*first]).collect();
                match before {
                    Some(before) => {
                        levels[index] = Some(before.into_iter().max().map_or(0, |last| last + 1));
                        has_moved = true;
                    }
                    None => is_done = false,
                }
            }
            match (is_done, has_moved) {
                (true, _) => return Ok(levels.into_iter().flatten().collect()),
                (false, true) => {}
                (false, false) => return Err(Box::new(self.cycle(&levels))),
            }
        }
    }

    /// Finds a cycle: follows the dependencies of a node without a level until a node repeats.
    fn cycle(&self, levels: &[Option<usize>]) -> DependencyCycle {
        // Every node without a level has a predecessor without one, so that following them must reach a node twice.
        let next =
            |node: usize| self.nodes[node].after.iter().copied().find(|first| levels[*first].is_none());
        let mut path: Vec<usize> = Vec::new();
        let mut current = levels.iter().position(Option::is_none);
        while let Some(node) = current {
            if let Some(start) = path.iter().position(|seen| *seen == node) {
                path.drain(..start);
                break;
            }
            path.push(node);
            current = next(node);
        }
        DependencyCycle(path.into_iter().map(|node| self.nodes[node].name()).collect())
    }
}

fn depends_on(object: &Object) -> Vec<String> {
    object.annotation(DEPENDS_ON_GROUPS).map(names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, group: &str, after: &str) -> Object {
        let mut object =
            Object::read_json(br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#)
                .expect("an object");
        object.metadata_mut().insert("name".into(), name.into());
        for (key, text) in [(RESOURCE_GROUP, group), (DEPENDS_ON_GROUPS, after)] {
            if !text.is_empty() {
                object.set_annotation(key, text);
            }
        }
        object
    }

    fn computed(
        entries: &[(&str, &str, &str)],
        order: &[(&str, bool, &str)],
    ) -> Result<Option<Stages>, Box<DependencyCycle>> {
        let built: Vec<(&str, Object)> =
            entries.iter().map(|(chart, group, after)| (*chart, object("x", group, after))).collect();
        let objects: Vec<ChartObject<'_>> =
            built.iter().map(|(chart, object)| ChartObject { chart, object }).collect();
        let order: Vec<ChartOrder> = order
            .iter()
            .map(|(chart, with_subcharts, after)| ChartOrder {
                chart: (*chart).to_owned(),
                with_subcharts: *with_subcharts,
                after: (*after).to_owned(),
            })
            .collect();
        stages(&objects, &order)
    }

    #[test]
    fn objects_without_annotations_have_no_stages() {
        assert_eq!(computed(&[("web", "", ""), ("web/charts/db", "", "")], &[]), Ok(None));
        assert_eq!(computed(&[("web", "alone", ""), ("web", "", "")], &[]), Ok(None));
        assert_eq!(computed(&[("web", "", "")], &[("web", false, "web/charts/off")]), Ok(None));
    }

    #[test]
    fn groups_come_after_what_they_depend_on_and_others_last() {
        let found = computed(
            &[
                ("web", "app", r#"["database", "queue"]"#),
                ("web", "", ""),
                ("web", "database", ""),
                ("web", "queue", "[database]"),
                ("web", "", "database"),
                ("web", "app", ""),
                ("web", "isolated", ""),
                ("web/charts/db", "", ""),
            ],
            &[],
        )
        .expect("no cycle")
        .expect("stages");
        assert_eq!(found.stages, [2, 3, 0, 1, 1, 2, 3, 0]);
        assert_eq!(found.is_awaited, [true, false, true, true, true, true, false, false]);
        assert_eq!((found.count(), found.warnings.len()), (4, 0));
    }

    #[test]
    fn charts_come_after_subcharts_with_all_that_is_in_them() {
        let found = computed(
            &[
                ("foo", "", ""),
                ("foo/charts/bar", "", ""),
                ("foo/charts/bar/charts/in", "", ""),
                ("foo/charts/nginx", "b", "a"),
                ("foo/charts/nginx", "a", ""),
                ("foo/charts/other", "", ""),
            ],
            &[
                ("foo", false, "foo/charts/bar"),
                ("foo", false, "foo/charts/nginx"),
                ("foo/charts/bar", true, "foo/charts/nginx"),
            ],
        );
        assert_eq!(found.expect("no cycle").expect("stages").stages, [3, 2, 2, 1, 0, 0]);
    }

    #[test]
    fn a_group_of_another_chart_is_missing() {
        let found = computed(&[("web", "", "db"), ("web/charts/db", "db", ""), ("web", "", "")], &[]);
        let found = found.expect("no cycle").expect("a warning");
        assert_eq!(found.stages, [0, 0, 0]);
        let text = "ConfigMap x depends on db, which chart web does not have: it is applied last";
        assert_eq!(found.warnings, [text]);
    }

    #[test]
    fn a_cycle_is_named() {
        let cycle = computed(&[("web", "a", "b"), ("web", "b", "c"), ("web", "c", "b")], &[]).unwrap_err();
        let text = "group b of chart web and group c of chart web depend on each other: remove one of these dependencies";
        assert_eq!(cycle.to_string(), text);
        let order = [("foo", false, "foo/charts/a"), ("foo/charts/a", true, "foo/charts/a")];
        let cycle = computed(&[("foo", "", ""), ("foo/charts/a", "", "")], &order).unwrap_err();
        assert_eq!(cycle.0, ["chart foo/a"]);
    }

    #[test]
    fn lists_may_be_json_yaml_or_words() {
        for text in [r#"["a", "b"]"#, "[a, b]", "a,b", " a , 'b' ", "['a','b']"] {
            assert_eq!(names(text), ["a", "b"], "{text}");
        }
        assert!(names("").is_empty() && names("[]").is_empty());
    }
}
