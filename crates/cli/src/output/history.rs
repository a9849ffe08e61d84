//! The output of `history`.

use pintle::release::Summary;
use pintle_tree::Node;

use super::color::color;
use super::format::Record;
use super::grid::{Cell, Column, Fit, Grid, age, short_id};
use super::list::chart;
use super::table::table;
use super::time;
use crate::clock;

/// The columns of the table that are not always shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExtraColumns {
    /// The version that was rolled back to.
    pub(crate) rollback: bool,
    /// The version id.
    pub(crate) id: bool,
}

/// The table, with a trailing line break.
pub(crate) fn rows(versions: &[Summary], columns: ExtraColumns) -> String {
    let mut headings = vec!["REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION"];
    if columns.rollback {
        headings.push("ROLLBACK");
    }
    headings.push("DESCRIPTION");
    if columns.id {
        headings.push("ID");
    }
    let mut rows = vec![headings.into_iter().map(str::to_owned).collect::<Vec<String>>()];
    for version in versions {
        let mut row = vec![
            version.number.to_string(),
            time::ansic(version.last_deployed.as_ref()),
            version.status_word.clone(),
            chart(version),
            version.app_version.clone(),
        ];
        if columns.rollback {
            row.push(version.rollback_revision.map(|number| number.to_string()).unwrap_or_default());
        }
        row.push(version.description.clone());
        if columns.id {
            row.push(version.id.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        rows.push(row);
    }
    format!("{}\n", table(&rows, 0))
}

/// The table for people.
pub(crate) fn versions_grid(versions: &[Summary], columns: ExtraColumns) -> Grid {
    let mut headings = vec![
        Column::new("REVISION", Fit::Keep).number(),
        Column::new("UPDATED", Fit::Keep),
        Column::new("STATUS", Fit::Keep),
        Column::new("CHART", Fit::Middle),
        Column::new("APP VERSION", Fit::Drop(2)),
    ];
    headings.extend(columns.rollback.then_some(Column::new("ROLLBACK", Fit::Keep).number()));
    headings.push(Column::new("DESCRIPTION", Fit::End));
    headings.extend(columns.id.then_some(Column::new("ID", Fit::Drop(1))));
    let mut grid = Grid::new(headings);
    let now = clock::now();
    for version in versions {
        let updated = version.last_deployed.as_ref().map(|moment| now - moment.unix());
        let mut row = vec![
            Cell::from(version.number.to_string()),
            Cell::from(updated.map_or_else(|| "-".to_owned(), age)).sorted_by(updated.unwrap_or(i64::MAX)),
            Cell::from(version.status_word.as_str()).colored(color(version.status)),
            Cell::from(chart(version)),
            Cell::from(version.app_version.as_str()),
        ];
        row.extend(columns.rollback.then(|| {
            Cell::from(version.rollback_revision.map(|number| number.to_string()).unwrap_or_default())
        }));
        row.push(Cell::from(version.description.as_str()));
        row.extend(columns.id.then(|| {
            Cell::from(version.id.as_ref().map(|id| short_id(&id.to_string())).unwrap_or_default())
        }));
        grid.push(row);
    }
    grid
}

/// The records for JSON and YAML.
pub(crate) fn records(versions: &[Summary], ids: bool) -> Vec<Record> {
    let record = |version: &Summary| {
        Record::default()
            .with("revision", i64::try_from(version.number).unwrap_or(i64::MAX))
            .with_option("updated", version.last_deployed.as_ref().map(ToString::to_string))
            .with("status", version.status_word.as_str())
            .with("chart", chart(version))
            .with("app_version", version.app_version.as_str())
            .with_option("rollback_revision", rollback_revision(version.rollback_revision))
            .with("description", version.description.as_str())
            .with_option("id", version.id.as_ref().filter(|_| ids).map(ToString::to_string))
    };
    versions.iter().map(record).collect()
}

/// The number of the version that was rolled back to, for JSON and YAML.
pub(crate) fn rollback_revision(number: Option<u64>) -> Option<Node> {
    number.map(|number| Node::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}
