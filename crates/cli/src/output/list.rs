//! The output of `list`.

use pintle::release::Summary;
use pintle_tree::Node;

use super::color::Paint;
use super::format::Record;
use super::table::table;
use super::time;

/// The columns of the table.
const HEADINGS: [&str; 7] = ["NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION"];

/// The table, with a trailing line break.
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
            time::plain(release.last_deployed.as_ref(), layout),
            paint.status(release.status, &release.status_word),
            chart(release),
            release.app_version.clone(),
        ]);
    }
    format!("{}\n", table(&rows, 0))
}

/// The records for JSON and YAML; the revision is a string, as in Helm. With `ids`, version ids are included.
pub(crate) fn records(releases: &[Summary], layout: &str, ids: bool) -> Vec<Record> {
    let record = |release: &Summary| {
        Record::default()
            .with("name", release.name.as_str())
            .with("namespace", release.namespace.as_str())
            .with("revision", release.number.to_string())
            .with("updated", time::plain(release.last_deployed.as_ref(), layout))
            .with("status", release.status_word.as_str())
            .with("chart", chart(release))
            .with("app_version", release.app_version.as_str())
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
