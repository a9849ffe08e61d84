//! The order of subcharts in a release record. Helm's format has no field for it, and a rollback or uninstall has no
//! subcharts to read it from.

use pintle_chart::Chart;
use pintle_plan::sequence::{ChartOrder, DEPENDS_ON_SUBCHARTS, names};
use pintle_release::{StoredChart, StoredFile};
use pintle_tree::{Map, Node, json};

/// The file with the order, present if a chart asks for one.
pub(super) const FILE: &str = "pintle.dev/subchart-order.json";

/// The field of an entry of `dependencies:` with the subcharts that must be ready before.
const DEPENDS_ON: &str = "depends-on";

/// Returns the order of the subcharts of a recorded chart.
pub(crate) fn subchart_order(stored: &StoredChart) -> Vec<ChartOrder> {
    let file = stored.files().iter().find(|file| file.name == FILE);
    let text = file.and_then(|file| file.data.as_ref());
    let Some(Ok(Node::List(rules))) = text.map(|text| json::read_exact(text.as_bytes())) else {
        return Vec::new();
    };
    rules.iter().filter_map(read).collect()
}

/// Returns the file for a chart that asks for an order.
pub(super) fn file(chart: &Chart) -> Option<StoredFile> {
    let mut rules = Vec::new();
    collect(chart, chart.name(), &mut rules);
    if rules.is_empty() {
        return None;
    }
    let text = json::write(&Node::List(rules.iter().map(write).collect())).ok()?;
    let data = Some(String::from_utf8_lossy(&text).as_ref().into());
    Some(StoredFile { name: FILE.to_owned(), data, modified: None })
}

fn collect(chart: &Chart, folder: &str, rules: &mut Vec<ChartOrder>) {
    let find = |wanted: &str| {
        let subchart = find(chart, wanted)?;
        Some(format!("{folder}/charts/{}", subchart.name()))
    };
    let own = chart.metadata.annotations.get(DEPENDS_ON_SUBCHARTS);
    for after in own.into_iter().flat_map(|text| names(text)).filter_map(|name| find(&name)) {
        rules.push(ChartOrder { chart: folder.to_owned(), with_subcharts: false, after });
    }
    for (name, first) in dependencies(chart) {
        let Some(later) = find(&name) else { continue };
        for after in first.iter().filter_map(|name| find(name)) {
            rules.push(ChartOrder { chart: later.clone(), with_subcharts: true, after });
        }
    }
    for subchart in &chart.subcharts {
        collect(subchart, &format!("{folder}/charts/{}", subchart.name()), rules);
    }
}

/// Finds a subchart by its alias or name. One that is disabled is not there, and nothing has to wait for it.
fn find<'c>(chart: &'c Chart, wanted: &str) -> Option<&'c Chart> {
    let with_name = |name: &str| chart.subcharts.iter().find(|subchart| subchart.name() == name);
    let aliased = || {
        let entries = chart.metadata.dependencies.iter().filter(|entry| entry.name == wanted);
        entries.filter(|entry| !entry.alias.is_empty()).find_map(|entry| with_name(&entry.alias))
    };
    with_name(wanted).or_else(aliased)
}

/// The names (or aliases) of dependencies with what they depend on. Helm's metadata has no such field, so it is read from
/// the file.
fn dependencies(chart: &Chart) -> Vec<(String, Vec<String>)> {
    let is_declaration = |name: &str| matches!(name, "Chart.yaml" | "requirements.yaml");
    let mut found = Vec::new();
    for file in chart.raw.iter().filter(|file| is_declaration(&file.name)) {
        let text = file.data.text();
        if memchr::memmem::find(text.as_bytes(), DEPENDS_ON.as_bytes()).is_none() {
            continue;
        }
        let Ok(root) = pintle_yaml::read(text.as_bytes()) else { continue };
        for entry in root.get("dependencies").and_then(Node::as_list).unwrap_or_default() {
            let word = |key| entry.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
            let first: Vec<String> = match entry.get(DEPENDS_ON) {
                Some(Node::List(items)) => {
                    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
                }
                Some(Node::Str(text)) => names(&text.to_str_lossy()),
                _ => continue,
            };
            if let Some(name) = word("alias").or(word("name")) {
                found.push((name.to_owned(), first));
            }
        }
    }
    found
}

fn write(rule: &ChartOrder) -> Node {
    let entries = [
        ("chart", Node::from(rule.chart.as_str())),
        ("withSubcharts", rule.with_subcharts.into()),
        ("after", rule.after.as_str().into()),
    ];
    Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map<Node>>())
}

fn read(node: &Node) -> Option<ChartOrder> {
    let word = |key| node.get(key).and_then(Node::as_str).map(str::to_owned);
    Some(ChartOrder {
        chart: word("chart")?,
        with_subcharts: node.get("withSubcharts").and_then(Node::as_bool)?,
        after: word("after")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_chart::File;

    fn chart(name: &str, text: &str) -> Chart {
        let mut chart = Chart::default();
        chart.metadata.name = name.to_owned();
        chart.raw.push(File::new("Chart.yaml", text.as_bytes()));
        chart
    }

    #[test]
    fn the_order_of_subcharts_comes_back_from_a_record() {
        let text =
            "dependencies:\n- {name: nginx}\n- {name: postgres, alias: db, depends-on: [nginx, off]}\n";
        let mut web = chart("web", text);
        web.metadata.annotations.insert(DEPENDS_ON_SUBCHARTS.to_owned(), "[\"db\"]".to_owned());
        web.subcharts = vec![chart("nginx", ""), chart("db", "")];
        let stored = super::super::stored(&web, None, None);
        let rule = |chart: &str, with_subcharts, after: &str| ChartOrder {
            chart: chart.to_owned(),
            with_subcharts,
            after: after.to_owned(),
        };
        assert_eq!(
            subchart_order(&stored),
            [rule("web", false, "web/charts/db"), rule("web/charts/db", true, "web/charts/nginx")]
        );
        assert!(super::super::chart(&stored).files.is_empty(), "it is no file of the chart");
    }

    #[test]
    fn no_chart_can_forge_the_order() {
        let mut web = chart("web", "");
        web.files
            .push(File::new(FILE, &b"[{\"chart\":\"web\",\"withSubcharts\":true,\"after\":\"web\"}]"[..]));
        assert!(subchart_order(&super::super::stored(&web, None, None)).is_empty());
    }
}
