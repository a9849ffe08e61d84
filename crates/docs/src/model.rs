//! What templates show: rows in order, in sections, with those of dependencies.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::info::ChartInfo;
use crate::rows::{Row, rows};

/// The order of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortOrder {
    /// By key.
    #[default]
    Alphanumeric,
    /// By position in the file.
    File,
}

/// The values of a dependency, under its path from the chart.
#[derive(Clone, Debug)]
pub struct DependencyValues<'c> {
    prefix: String,
    chart: &'c ChartInfo,
}

/// The maximum nesting of dependencies; deeper ones are cycles.
const MAX_DEPTH: usize = 32;

/// Finds the values of the dependencies of a chart, and of theirs. `charts` are all charts by their folders; charts that
/// are not there are given to `warn`.
pub fn dependency_values<'c>(
    root: &ChartInfo,
    charts: &'c BTreeMap<String, ChartInfo>,
    join: &dyn Fn(&str, &str) -> String,
    warn: &mut dyn FnMut(String),
) -> Vec<DependencyValues<'c>> {
    let mut found = Vec::new();
    add_dependencies(root, charts, "", join, warn, &mut found, 0);
    found
}

fn add_dependencies<'c>(
    root: &ChartInfo,
    charts: &'c BTreeMap<String, ChartInfo>,
    prefix: &str,
    join: &dyn Fn(&str, &str) -> String,
    warn: &mut dyn FnMut(String),
    found: &mut Vec<DependencyValues<'c>>,
    depth: usize,
) {
    for dependency in root.dependencies.iter().flatten().filter(|_| depth < MAX_DEPTH) {
        let path = match dependency.repository.strip_prefix("file://") {
            Some(path) => join(&root.directory, path),
            None if !dependency.repository.is_empty() => {
                warn(format!(
                    "chart {} has a remote dependency {}: its values are not included",
                    root.directory, dependency.name
                ));
                continue;
            }
            None => join(&root.directory, &format!("charts/{}", dependency.name)),
        };
        let Some(chart) = charts.get(&path) else {
            warn(format!("dependency {path} was not found: its values are not included"));
            continue;
        };
        let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        let prefix = format!("{prefix}{name}");
        found.push(DependencyValues { prefix: prefix.clone(), chart });
        add_dependencies(chart, charts, &format!("{prefix}."), join, warn, found, depth + 1);
    }
}

/// Rows in sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sections {
    /// Rows without a section.
    pub(crate) default: Vec<Row>,
    /// In the order in which they occur.
    pub(crate) named: Vec<(String, Vec<Row>)>,
}

/// All rows of a chart, sorted.
pub(crate) fn all_rows(
    info: &ChartInfo,
    dependencies: &[DependencyValues<'_>],
    order: SortOrder,
    only_described: bool,
) -> Result<Vec<Row>, Error> {
    let mut all = rows(info.values.as_ref(), &info.descriptions)?;
    if only_described {
        all.retain(|row| !row.auto_description.is_empty() || !row.description.is_empty());
    }
    if !dependencies.is_empty() {
        add_dependency_rows(&mut all, dependencies)?;
    }
    sort(&mut all, order);
    Ok(all)
}

fn add_dependency_rows(all: &mut Vec<Row>, dependencies: &[DependencyValues<'_>]) -> Result<(), Error> {
    let mut globals = BTreeSet::new();
    for row in all.iter_mut().filter(|row| row.key.starts_with("global.")) {
        row.is_global = true;
        globals.insert(row.key.clone());
    }
    for dependency in dependencies {
        for mut row in rows(dependency.chart.values.as_ref(), &dependency.chart.descriptions)? {
            if row.key == "global" || row.key.starts_with("global.") {
                if !globals.insert(row.key.clone()) {
                    continue;
                }
                row.is_global = true;
            } else {
                row.key = format!("{}.{}", dependency.prefix, row.key);
            }
            row.dependency.clone_from(&dependency.prefix);
            all.push(row);
        }
    }
    Ok(())
}

/// Globals first, then the chart's own values, then each dependency.
fn sort(rows: &mut [Row], order: SortOrder) {
    rows.sort_by(|left, right| {
        let by_owner = match (left.is_global, right.is_global) {
            (false, false) => left.dependency.cmp(&right.dependency),
            (true, true) => Ordering::Equal,
            (left, right) => right.cmp(&left),
        };
        by_owner.then_with(|| match order {
            SortOrder::File => (left.line, left.column).cmp(&(right.line, right.column)),
            SortOrder::Alphanumeric => left.key.cmp(&right.key),
        })
    });
}

/// Divides sorted rows into sections.
pub(crate) fn sections(rows: &[Row]) -> Sections {
    let mut sections = Sections::default();
    for row in rows {
        if row.section.is_empty() {
            sections.default.push(row.clone());
            continue;
        }
        match sections.named.iter_mut().find(|(name, _)| *name == row.section) {
            Some((_, items)) => items.push(row.clone()),
            None => sections.named.push((row.section.clone(), vec![row.clone()])),
        }
    }
    sections
}
