//! The output of `history`.

use pintle::release::Summary;

use super::format::Record;
use super::list::chart;
use super::table::table;
use super::time;

/// The table, with a trailing line break. With `ids`, the last column has version ids.
pub(crate) fn rows(versions: &[Summary], ids: bool) -> String {
    let mut headings = vec!["REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION"];
    if ids {
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
            version.description.clone(),
        ];
        if ids {
            row.push(version.id.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        rows.push(row);
    }
    format!("{}\n", table(&rows, 0))
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
            .with("description", version.description.as_str())
            .with_option("id", version.id.as_ref().filter(|_| ids).map(ToString::to_string))
    };
    versions.iter().map(record).collect()
}
