//! The list of releases.

use pintle::release::Summary;
use pintle_tree::Node;

use super::color::Paint;
use super::format::Record;
use super::moment;
use super::table::table;

/// The columns of the table.
const HEADINGS: [&str; 7] = ["NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION"];

/// The table, with a line break at its end.
pub(crate) fn rows(releases: &[Summary], layout: &str, headings: bool, paint: Paint) -> String {
    let mut rows = Vec::with_capacity(releases.len() + 1);
    if headings {
        rows.push(HEADINGS.iter().map(|heading| paint.heading(heading)).collect());
    }
    for release in releases {
        rows.push(vec![
            release.name.clone(),
            paint.namespace(&release.namespace),
            release.number.to_string(),
            moment::plain(release.last_deployed.as_ref(), layout),
            paint.status(release.status, &release.status_word),
            chart(release),
            release.app_version.clone(),
        ]);
    }
    format!("{}\n", table(&rows, 0))
}

/// The same as data; the number is a text. With `ids`, versions that have an id bring it along.
pub(crate) fn records(releases: &[Summary], layout: &str, ids: bool) -> Vec<Record> {
    let record = |release: &Summary| {
        Record::default()
            .with("name", release.name.as_str())
            .with("namespace", release.namespace.as_str())
            .with("revision", release.number.to_string())
            .with("updated", moment::plain(release.last_deployed.as_ref(), layout))
            .with("status", release.status_word.as_str())
            .with("chart", chart(release))
            .with("app_version", release.app_version.as_str())
            .with_some("id", release.id.as_ref().filter(|_| ids).map(ToString::to_string))
    };
    releases.iter().map(record).collect()
}

/// Only the names.
pub(crate) fn names(releases: &[Summary]) -> Node {
    Node::List(releases.iter().map(|release| Node::from(release.name.as_str())).collect())
}

/// Name and version of the chart in one word.
pub(crate) fn chart(release: &Summary) -> String {
    format!("{}-{}", release.chart_name, release.chart_version)
}
