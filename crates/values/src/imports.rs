//! `import-values`: a chart takes over values of its subcharts (Helm's `ProcessImportValues`).

use pintle_chart::Chart;
use pintle_chart::metadata::Dependency;
use pintle_tree::{Map, Node};

use crate::coalesce::{Coalescer, Mode};
use crate::dependencies::lists_dependencies;
use crate::scope::{FieldPath, Scope};
use crate::table::{Item, Table};
use crate::{Error, LogLine, NullRules, Result, go_format};

/// Adds the values of subcharts, and what is imported from them, to every chart with dependencies, deepest first.
pub(crate) fn import_values(chart: &mut Chart, rules: NullRules, log: &mut Vec<LogLine>) -> Result<()> {
    // Deepest first, so that what a subchart imports can be imported from it in turn.
    for subchart in &mut chart.subcharts {
        import_values(subchart, rules, log)?;
    }
    if !lists_dependencies(chart) {
        return Ok(());
    }
    let (values, imports) = Importer { log, rules }.values_of(chart)?;
    chart.values = values;
    for (dependency, imports) in chart.metadata.dependencies.iter_mut().zip(imports) {
        dependency.import_values = imports;
    }
    Ok(())
}

/// Whether a chart, or one below it, lists dependencies, so that importing changes it.
pub(crate) fn has_dependencies(chart: &Chart) -> bool {
    lists_dependencies(chart) || chart.subcharts.iter().any(has_dependencies)
}

/// The maximum number of path segments of an import target: each one is a level of nesting, and those of nested
/// charts add up.
const MAX_STEPS: usize = 100;

/// Whether the target path of an import is too long.
fn is_long(import: &Node) -> bool {
    let Node::Map(pair) = import else { return false };
    let Some(Node::Str(parent)) = pair.get("parent") else { return false };
    parent.iter().filter(|byte| **byte == b'.').count() >= MAX_STEPS
}

struct Importer<'l> {
    log: &'l mut Vec<LogLine>,
    rules: NullRules,
}

impl Importer<'_> {
    /// The new values of a chart, and the imports of its dependencies in their long form, as child/parent pairs.
    fn values_of(&mut self, chart: &Chart) -> Result<(Map<Node>, Vec<Vec<Node>>)> {
        let cyclic = |_| Error::CyclicImport(chart.name().to_owned());
        let values = Table::new();
        // Nulls are kept here: the user's values are not known yet, and a null of the chart still has to
        // remove a default later.
        self.merging().scope(&Scope::new(chart), &values, &FieldPath::Top)?;
        let dependencies = &chart.metadata.dependencies;
        if dependencies.iter().all(|dependency| dependency.import_values.is_empty()) {
            return Ok((values.to_map().map_err(cyclic)?, vec![Vec::new(); dependencies.len()]));
        }
        let imported = Table::new();
        if dependencies.iter().flat_map(|entry| &entry.import_values).any(is_long) {
            return Err(Error::LongImport { chart: chart.name().to_owned(), limit: MAX_STEPS });
        }
        let pairs = dependencies.iter().map(|entry| self.import(entry, &values, &imported)).collect();
        // The chart's own values take precedence over imports. The copy separates them where an import made them
        // share tables.
        let above = Table::owning(values.to_map().map_err(cyclic)?);
        self.merging().over_table(&above, &imported, &FieldPath::Top);
        Ok((above.to_map().map_err(cyclic)?, pairs))
    }

    fn merging(&mut self) -> Coalescer<'_> {
        Coalescer { log: self.log, rules: self.rules, mode: Mode::Merge }
    }

    /// Adds the imports of one dependency to `imported`.
    fn import<'a>(&mut self, dependency: &Dependency, values: &Table<'a>, imported: &Table<'a>) -> Vec<Node> {
        let mut pairs = Vec::new();
        for import in &dependency.import_values {
            // The short form is the name of a table below `exports`, taken over at the top level.
            let (child, parent, short) = match import {
                Node::Map(pair) => (spelled(pair.get("child")), spelled(pair.get("parent")), false),
                Node::Str(name) => (format!("exports.{name}"), ".".to_owned(), true),
                _ => continue,
            };
            pairs.push(pair(&child, &parent));
            match values.table_at(&format!("{}.{child}", dependency.name)) {
                Ok(table) => {
                    // Helm creates a new map in place of an empty one, so an empty map is never shared.
                    let table = if table.is_empty() { Table::new() } else { table };
                    let placed = nested_at(&parent, table);
                    self.merging().over_table(imported, &placed, &FieldPath::Top);
                }
                Err(error) => {
                    let error = ("error", error.to_string());
                    self.log.push(if short {
                        LogLine::warn("ImportValues missing table", vec![error])
                    } else {
                        let chart = ("chart", dependency.name.clone());
                        LogLine::warn("ImportValues missing table from chart", vec![chart, error])
                    });
                }
            }
        }
        pairs
    }
}

/// A path of an import as Go prints it; a missing one is `<nil>`.
fn spelled(node: Option<&Node>) -> String {
    node.map_or_else(|| "<nil>".to_owned(), |node| go_format::format_v(node, false))
}

fn pair(child: &str, parent: &str) -> Node {
    let entries = [("child".into(), Node::from(child)), ("parent".into(), Node::from(parent))];
    Node::Map(entries.into_iter().collect())
}

/// Nests `table` at `path`; `.` is the top.
fn nested_at<'a>(path: &str, table: Table<'a>) -> Table<'a> {
    if path == "." {
        return table;
    }
    path.rsplit('.').fold(table, |inner, step| {
        let outer = Table::new();
        outer.insert(step.into(), Item::Table(inner));
        outer
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::json;

    fn map(text: &str) -> Map<Node> {
        json::read_map(text.as_bytes()).unwrap()
    }

    fn importing(imports: &str, child: &str, parent: &str) -> Chart {
        let mut subchart = Chart { values: map(child), ..Chart::default() };
        subchart.metadata.name = "sub".to_owned();
        let mut chart = Chart { values: map(parent), subcharts: vec![subchart], ..Chart::default() };
        chart.metadata.name = "p".to_owned();
        let import_values = json::read(imports.as_bytes()).unwrap().as_list().unwrap().to_vec();
        chart.metadata.dependencies =
            vec![Dependency { name: "sub".to_owned(), import_values, ..Dependency::default() }];
        chart
    }

    #[test]
    fn own_values_win_over_imported_ones() {
        let child = r#"{"exports":{"data":{"a":1,"b":2}},"c":{"d":3}}"#;
        let mut chart = importing(r#"["data",{"child":"c","parent":"x.y"},"no"]"#, child, r#"{"a":9}"#);
        let mut log = Vec::new();
        import_values(&mut chart, NullRules::Helm4, &mut log).unwrap();
        assert_eq!(chart.values.get("a"), Some(&Node::Float(9.0)));
        assert_eq!(chart.values.get("b"), Some(&Node::Float(2.0)));
        assert_eq!(chart.values.get("x"), Some(&Node::Map(map(r#"{"y":{"d":3}}"#))));
        let expected = r#"level=WARN msg="ImportValues missing table" error="\"no\" is not a table""#;
        assert_eq!(log[0].to_string(), expected);
        assert_eq!(chart.metadata.dependencies[0].import_values[0], pair("exports.data", "."));
    }

    #[test]
    fn an_import_to_the_end_of_the_world_is_refused() {
        let imports = |steps: usize| format!(r#"[{{"child":"t","parent":"x{}"}}]"#, ".x".repeat(steps - 1));
        let child = r#"{"t":{"u":1}}"#;
        let mut chart = importing(&imports(MAX_STEPS), child, "{}");
        import_values(&mut chart, NullRules::Helm4, &mut Vec::new()).unwrap();
        let mut chart = importing(&imports(MAX_STEPS + 1), child, "{}");
        let error = import_values(&mut chart, NullRules::Helm4, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "import-values of chart p name a path of more than 100 steps");
    }

    #[test]
    fn imports_that_contain_themselves_are_an_error() {
        // Helm itself overflows its stack here.
        let imports = r#"[{"child":"t.u","parent":"x"},{"child":"t","parent":"x"}]"#;
        let mut chart = importing(imports, r#"{"t":{"u":{"v":1}}}"#, "{}");
        let error = import_values(&mut chart, NullRules::Helm4, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "import-values of chart p contain themselves");
    }
}
