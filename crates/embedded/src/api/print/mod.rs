//! Table cells of built-in kinds, in the order of their columns. Follows `printers/internalversion` of Kubernetes.

mod core;
mod json_path;
mod others;
mod workloads;

use std::time::Duration;

use pintle_time::{GoTime, RFC3339, Zone};
use pintle_tree::{Map, Node};

use super::meta::{at, meta, number_at, text_at};
use super::subresource::selector_text;
use crate::schema::Resource;

pub(super) use json_path::by_path;
pub(super) use others::default_storage_class;

/// The cells of an object in this minor version of Kubernetes.
pub(super) fn cells(resource: &Resource, minor: u16, object: &Node, now: Duration) -> Vec<Node> {
    let row = PrintRow { object, now };
    let (group, kind) = (resource.group.to_str_lossy(), resource.kind.to_str_lossy());
    let cells = match (&*group, &*kind) {
        ("", kind) => core::cells(kind, &row),
        ("apps" | "batch" | "autoscaling" | "policy", kind) => workloads::cells(kind, &row),
        ("apiextensions.k8s.io", "CustomResourceDefinition") if minor >= 37 => Some(others::definition(&row)),
        (group, kind) => others::cells(group, kind, minor, &row),
    };
    // Kinds without printer columns show the creation timestamp.
    cells.unwrap_or_else(|| vec![meta(object, "name").into(), meta(object, "creationTimestamp").into()])
}

/// An object to print, and the current time for ages.
pub(super) struct PrintRow<'o> {
    pub(super) object: &'o Node,
    now: Duration,
}

impl PrintRow<'_> {
    fn name(&self) -> Node {
        meta(self.object, "name").into()
    }

    fn age(&self) -> Node {
        self.since(&["metadata", "creationTimestamp"]).into()
    }

    /// The age of the timestamp at a path.
    fn since(&self, path: &[&str]) -> String {
        since(text_at(self.object, path), self.now)
    }

    fn text(&self, path: &[&str]) -> &str {
        text_at(self.object, path)
    }

    fn text_or(&self, path: &[&str], otherwise: &str) -> Node {
        let text = self.text(path);
        if text.is_empty() { otherwise.into() } else { text.into() }
    }

    fn number(&self, path: &[&str]) -> i64 {
        number_at(self.object, path).unwrap_or(0)
    }

    fn count(&self, path: &[&str]) -> i64 {
        match at(self.object, path) {
            Some(Node::Map(map)) => map.len() as i64,
            Some(Node::List(list)) => list.len() as i64,
            _ => 0,
        }
    }

    /// A number or a string, as text.
    fn value_text(&self, path: &[&str], otherwise: &str) -> Node {
        match at(self.object, path) {
            Some(Node::Int(value)) => value.to_string().into(),
            Some(Node::Str(text)) => text.clone().into(),
            _ => otherwise.into(),
        }
    }

    fn labels(&self, path: &[&str]) -> Node {
        labels(at(self.object, path)).into()
    }

    /// A selector; an empty one is `<none>`.
    fn selector(&self, path: &[&str]) -> Node {
        let text = at(self.object, path).map(selector_text).unwrap_or_default();
        if text.is_empty() { "<none>".into() } else { text.into() }
    }

    fn containers(&self, path: &[&str]) -> [Node; 2] {
        let list = super::meta::list_at(self.object, path);
        let all = |field: &str| {
            let texts: Vec<&str> = list.iter().map(|container| text_at(container, &[field])).collect();
            Node::from(texts.join(","))
        };
        [all("name"), all("image")]
    }

    fn has_condition(&self, kind: &str) -> bool {
        super::meta::list_at(self.object, &["status", "conditions"]).iter().any(|condition| {
            text_at(condition, &["type"]) == kind && text_at(condition, &["status"]) == "True"
        })
    }

    fn is_deleted(&self) -> bool {
        super::meta::is_deleted(self.object)
    }
}

fn labels(labels: Option<&Node>) -> String {
    let labels = labels.and_then(Node::as_map).into_iter().flat_map(Map::iter);
    let texts: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if texts.is_empty() { "<none>".to_owned() } else { texts.join(",") }
}

/// The age of a timestamp.
pub(super) fn since(time: &str, now: Duration) -> String {
    match unix(time) {
        Some(then) => span(i64::try_from(now.as_secs()).unwrap_or(i64::MAX) - then),
        None => "<unknown>".to_owned(),
    }
}

/// Parses a timestamp to seconds since 1970.
pub(super) fn unix(time: &str) -> Option<i64> {
    if time.is_empty() {
        return None;
    }
    GoTime::parse(RFC3339, time, &Zone::utc()).ok().map(|time| time.unix())
}

/// Formats a duration as `duration.HumanDuration` in apimachinery: the longer, the coarser.
pub(super) fn span(seconds: i64) -> String {
    let two = |big: i64, big_unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{big_unit}") } else { format!("{big}{big_unit}{small}{small_unit}") }
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        // The clocks of client and server may differ by up to two seconds before an age is called invalid.
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_get_coarser_the_longer_they_are() {
        let day = 86_400;
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (3 * 3600 - 1, "179m"),
            (3 * 3600 + 60, "3h1m"),
            (47 * 3600, "47h"),
            (2 * day + 3600, "2d1h"),
            (8 * day, "8d"),
            (2 * 365 * day, "2y"),
            (9 * 365 * day, "9y"),
            (-5, "<invalid>"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
