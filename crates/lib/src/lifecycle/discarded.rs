//! Detects changes of handlers that have no effect because they come too late or in the wrong scope. They are
//! warnings, not errors, because the chart still renders.

use pintle_chart::Chart;
use pintle_events::Event;
use pintle_tree::{LogLine, Map, Node};

/// The values that are compared before and after handlers ran.
pub(crate) struct ValuesSnapshot {
    /// Values of `condition` and `tags`, each with the dependency that it enables.
    switches: Vec<(Vec<String>, String, Option<Node>)>,
    /// The `global` values of subcharts, by the path of the subchart in the values.
    globals: Vec<(Vec<String>, Option<Node>)>,
}

impl ValuesSnapshot {
    /// Records the values of a chart whose change would have no effect.
    pub(crate) fn new(chart: &Chart, values: &Map<Node>) -> ValuesSnapshot {
        let mut watched = ValuesSnapshot { switches: Vec::new(), globals: Vec::new() };
        watched.add(chart, &[], values);
        watched
    }

    fn add(&mut self, chart: &Chart, path: &[String], values: &Map<Node>) {
        for dependency in listed(chart) {
            let text = |key: &str| dependency.get(key).and_then(Node::as_str).unwrap_or_default();
            let name = if text("alias").is_empty() { text("name") } else { text("alias") };
            let conditions = text("condition").split(',').map(str::trim).filter(|path| !path.is_empty());
            let conditions = conditions.map(|condition| {
                let steps = condition.split('.').map(str::to_owned);
                path.iter().cloned().chain(steps).collect::<Vec<String>>()
            });
            let tags = dependency.get("tags").and_then(Node::as_list).unwrap_or_default();
            let tags =
                tags.iter().filter_map(Node::as_str).map(|tag| vec!["tags".to_owned(), tag.to_owned()]);
            for switch in conditions.chain(tags) {
                let before = at(values, &switch).cloned();
                self.switches.push((switch, name.to_owned(), before));
            }
        }
        for subchart in &chart.subcharts {
            let path: Vec<String> = path.iter().cloned().chain([subchart.name().to_owned()]).collect();
            let global: Vec<String> = path.iter().cloned().chain(["global".to_owned()]).collect();
            let before = at(values, &global).cloned();
            self.globals.push((path.clone(), before));
            self.add(subchart, &path, values);
        }
    }

    /// Returns a warning for each changed condition or tag. Dependencies were already enabled or disabled by then.
    pub(crate) fn late_condition_changes(&self, after: &Map<Node>, event: Event) -> Vec<LogLine> {
        let changed = self.switches.iter().filter(|(path, _, before)| at(after, path) != before.as_ref());
        let warning = |(path, name, _): &(Vec<String>, String, Option<Node>)| {
            let path = path.join(".");
            LogLine::warn(
                format!(
                    "a handler of `{event}` changed `{path}`, which decides whether the dependency {name} takes part; that \
                     was decided before, and does not change"
                ),
                Vec::new(),
            )
        };
        changed.map(warning).collect()
    }

    /// Returns the `global` values of subcharts that handlers changed.
    pub(crate) fn changed_globals(&self, after: &Map<Node>) -> Vec<(Vec<String>, Option<Node>)> {
        let global = |path: &[String]| {
            let path: Vec<String> = path.iter().cloned().chain(["global".to_owned()]).collect();
            at(after, &path).cloned()
        };
        let now = self.globals.iter().map(|(path, before)| (path, before, global(path)));
        now.filter(|(_, before, now)| *before != now).map(|(path, _, now)| (path.clone(), now)).collect()
    }
}

/// Returns a warning for each `global` value of a subchart that was changed and then overwritten by the parent's.
pub(crate) fn lost_globals(
    changed: &[(Vec<String>, Option<Node>)],
    shared: &Map<Node>,
    event: Event,
) -> Vec<LogLine> {
    let is_lost = |(path, wanted): &&(Vec<String>, Option<Node>)| {
        let path: Vec<String> = path.iter().cloned().chain(["global".to_owned()]).collect();
        at(shared, &path) != wanted.as_ref()
    };
    let warning = |(path, _): &(Vec<String>, Option<Node>)| {
        LogLine::warn(
            format!(
                "a handler of `{event}` changed `global` values of the subchart {}, and the change does not count: global \
                 values are those of the topmost chart",
                path.join("/")
            ),
            Vec::new(),
        )
    };
    changed.iter().filter(is_lost).map(warning).collect()
}

/// Returns the dependencies that Chart.yaml lists, including disabled ones.
fn listed(chart: &Chart) -> Vec<Node> {
    let files =
        chart.raw.iter().filter(|file| matches!(file.name.as_str(), "Chart.yaml" | "requirements.yaml"));
    let lists =
        files.filter_map(|file| match pintle_yaml::read_map(&file.data).ok()?.remove("dependencies")? {
            Node::List(list) => Some(list),
            _ => None,
        });
    lists.flatten().collect()
}

fn at<'n>(values: &'n Map<Node>, path: &[String]) -> Option<&'n Node> {
    let (last, above) = path.split_last()?;
    let map = above.iter().try_fold(values, |map, name| map.get(name.as_str())?.as_map())?;
    map.get(last.as_str())
}
