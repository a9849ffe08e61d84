//! The output of `list`.

use std::collections::BTreeMap;

use pintle::release::Summary;
use pintle_tree::Node;

use super::color::{Paint, color};
use super::format::Record;
use super::grid::{Cell, Column, Fit, Grid, age, counted};
use super::table::table;
use super::time;
use crate::clock;

/// The columns of the table.
const HEADINGS: [&str; 7] = ["NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION"];

/// The heading of the column that is shown if a HelmRequest manages one of the releases.
const MANAGED_BY: &str = "MANAGED BY";

/// The HelmRequest that manages a release, as `namespace/name`.
pub(crate) fn manager(release: &Summary) -> Option<String> {
    let owner = pintle_controller::origin_labels::owner(release)?;
    Some(format!("{}/{}", owner.namespace, owner.name))
}

/// The heading of the column that is shown if the releases are in different stores.
const STORE: &str = "STORE";

/// Whether the releases are in different stores.
fn is_mixed(releases: &[Summary]) -> bool {
    releases.windows(2).any(|pair| pair[0].store != pair[1].store)
}

/// The table, with a trailing line break. With `managers`, further columns say which HelmRequests manage releases, if there
/// are any, and which store has a release, if there are several.
pub(crate) fn rows(
    releases: &[Summary],
    layout: &str,
    headings: bool,
    managers: bool,
    paint: Paint,
) -> String {
    let mut rows: Vec<Vec<String>> = Vec::with_capacity(releases.len() + 1);
    let shows_managers = managers && releases.iter().any(|release| manager(release).is_some());
    let shows_stores = managers && is_mixed(releases);
    if headings {
        let managed = shows_managers.then_some(&MANAGED_BY);
        let store = shows_stores.then_some(&STORE);
        rows.push(
            HEADINGS.iter().chain(managed).chain(store).map(|heading| paint.heading(heading)).collect(),
        );
    }
    for release in releases {
        let mut row = vec![
            release.name.clone(),
            paint.namespace(&release.namespace),
            release.number.to_string(),
            time::plain(release.last_deployed.as_ref(), layout),
            paint.status(release.status, &release.status_word),
            chart(release),
            release.app_version.clone(),
        ];
        row.extend(shows_managers.then(|| manager(release).unwrap_or_default()));
        row.extend(shows_stores.then(|| release.store.to_owned()));
        rows.push(row);
    }
    format!("{}\n", table(&rows, 0))
}

/// The table for people.
pub(crate) fn releases_grid(releases: &[Summary], namespaces: bool, ids: bool) -> Grid {
    let managed = ids && releases.iter().any(|release| manager(release).is_some());
    let stores = ids && is_mixed(releases);
    let mut columns = vec![Column::new("NAME", Fit::Middle)];
    columns.extend(namespaces.then_some(Column::new("NAMESPACE", Fit::Middle)));
    columns.extend([
        Column::new("REVISION", Fit::Drop(2)).number(),
        Column::new("UPDATED", Fit::Keep),
        Column::new("STATUS", Fit::Keep),
        Column::new("CHART", Fit::Middle),
        Column::new("APP VERSION", Fit::Drop(3)),
    ]);
    columns.extend(managed.then_some(Column::new(MANAGED_BY, Fit::Middle)));
    columns.extend(stores.then_some(Column::new(STORE, Fit::Drop(4))));
    let mut grid = Grid::new(columns);
    let now = clock::now();
    for release in releases {
        let updated = release.last_deployed.as_ref().map(|moment| moment.unix());
        let age = updated.map_or_else(|| "-".to_owned(), |moment| age(now - moment));
        let mut row = vec![Cell::from(release.name.as_str())];
        row.extend(namespaces.then(|| Cell::from(release.namespace.as_str()).colored(Some(36))));
        row.extend([
            Cell::from(release.number.to_string()),
            Cell::from(age).sorted_by(updated.map_or(i64::MAX, |moment| now - moment)),
            Cell::from(release.status_word.as_str()).colored(color(release.status)),
            Cell::from(chart(release)),
            Cell::from(release.app_version.as_str()),
        ]);
        row.extend(managed.then(|| Cell::from(manager(release).unwrap_or_default())));
        row.extend(stores.then(|| Cell::from(release.store)));
        grid.push(row);
    }
    grid
}

/// How many releases there are in which status.
pub(crate) fn summary(releases: &[Summary]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for release in releases {
        *counts.entry(release.status_word.as_str()).or_default() += 1;
    }
    let total = counted(releases.len(), "release");
    let counts: Vec<String> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    match counts.len() {
        0 => total,
        _ => format!("{total}: {}", counts.join(", ")),
    }
}

/// The records for JSON and YAML; the revision is a string, as in Helm. With `ids`, version ids are included, and the stores
/// if there are several.
pub(crate) fn records(releases: &[Summary], layout: &str, ids: bool) -> Vec<Record> {
    let shows_stores = ids && is_mixed(releases);
    let record = |release: &Summary| {
        Record::default()
            .with("name", release.name.as_str())
            .with("namespace", release.namespace.as_str())
            .with("revision", release.number.to_string())
            .with("updated", time::plain(release.last_deployed.as_ref(), layout))
            .with("status", release.status_word.as_str())
            .with("chart", chart(release))
            .with("app_version", release.app_version.as_str())
            .with_option("managed_by", manager(release).filter(|_| ids))
            .with_option("store", shows_stores.then(|| release.store.to_owned()))
            .with_option("id", release.id.as_ref().filter(|_| ids).map(ToString::to_string))
    };
    releases.iter().map(record).collect()
}

/// The names, for `--short`.
pub(crate) fn names(releases: &[Summary]) -> Node {
    Node::List(releases.iter().map(|release| Node::from(release.name.as_str())).collect())
}

/// The chart as `name-version`.
pub(crate) fn chart(release: &Summary) -> String {
    format!("{}-{}", release.chart_name, release.chart_version)
}
