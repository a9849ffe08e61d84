//! The objects of a release in the cluster, as `status` prints them: tables, or objects in machine-readable formats.

use pintle::objects::Object;
use pintle::release::{ReleaseVersion, StoredHook, Timestamp};
use pintle_tree::{Map, Node};

use super::format::Record;
use super::history::rollback_revision;

/// The minimum width of columns, and the gap between them, as in kubectl.
const MIN_WIDTH: usize = 6;
const GAP: usize = 3;

/// The tables of all kinds, each with its heading and an empty line after it.
pub(crate) fn tables(kinds: &[(String, Vec<Object>)]) -> String {
    let mut text = String::new();
    let mut printer = Printer::default();
    for (kind, tables) in kinds {
        text.push_str(&format!("==> {kind}\n"));
        for table in tables {
            printer.print(table, &mut text);
        }
        text.push('\n');
    }
    text
}

/// Prints tables, and the column headings only if they differ from those before, as kubectl does.
#[derive(Default)]
struct Printer {
    columns: Option<Node>,
    printed: bool,
}

impl Printer {
    fn print(&mut self, table: &Object, text: &mut String) {
        if table.kind() != "Table" {
            return plain(table, text);
        }
        let columns = table.at(&["columnDefinitions"]).cloned().unwrap_or(Node::List(Vec::new()));
        let rows = table.at(&["rows"]).and_then(Node::as_list).unwrap_or_default();
        let known = self.columns.as_ref() == Some(&columns);
        let headings = !(self.printed && known);
        if !known {
            self.columns = Some(columns.clone());
            self.printed = false;
        }
        if rows.is_empty() {
            return;
        }
        self.printed = true;
        let columns = columns.as_list().unwrap_or_default();
        let narrow = |column: &Node| !matches!(column.get("priority"), Some(Node::Int(wide)) if *wide != 0);
        let mut lines: Vec<Vec<String>> = Vec::with_capacity(rows.len() + 1);
        if headings {
            lines.push(columns.iter().filter(|column| narrow(column)).map(heading).collect());
        }
        for row in rows {
            let cells = row.get("cells").and_then(Node::as_list).unwrap_or_default();
            let shown = cells.iter().zip(columns).filter(|(_, column)| narrow(column));
            lines.push(shown.map(|(cell, _)| cell_text(cell)).collect());
        }
        let shown = columns.iter().enumerate().filter(|(_, column)| narrow(column)).map(|(index, _)| index);
        pad_first(&mut lines, rows, &shown.collect::<Vec<usize>>(), headings);
        push_padded(&lines, text);
    }
}

/// Pads the cells of the first line, but the last one, to the longest cell of their column. As kubectl since 1.37, this
/// counts the bytes of whole cells, also those that are cut off at a line break. `shown` are the columns of the lines.
fn pad_first(lines: &mut [Vec<String>], rows: &[Node], shown: &[usize], has_headings: bool) {
    let Some((_, all_but_last)) = shown.split_last() else { return };
    let cells = |row: &Node, column: usize| {
        let cells = row.get("cells").and_then(Node::as_list).unwrap_or_default();
        cells.get(column).map_or(0, cell_bytes)
    };
    let Some(first) = lines.first_mut() else { return };
    for (cell, column) in first.iter_mut().zip(all_but_last) {
        let longest = rows.iter().map(|row| cells(row, *column)).max().unwrap_or(0);
        let own = if has_headings { cell.len() } else { rows.first().map_or(0, |row| cells(row, *column)) };
        cell.push_str(&" ".repeat(longest.saturating_sub(own)));
    }
}

/// The number of bytes of a whole cell.
fn cell_bytes(cell: &Node) -> usize {
    match cell {
        Node::Str(text) => text.as_bytes().len(),
        other => cell_text(other).len(),
    }
}

/// A row for an object that the server did not return as a `Table`.
fn plain(object: &Object, text: &mut String) {
    let created = object.text(&["metadata", "creationTimestamp"]);
    let age = if created.is_empty() { "<unknown>" } else { created };
    push_padded(
        &[vec!["NAME".to_owned(), "AGE".to_owned()], vec![object.name().to_owned(), age.to_owned()]],
        text,
    );
}

fn heading(column: &Node) -> String {
    column.get("name").and_then(Node::as_str).unwrap_or_default().to_uppercase()
}

/// The text of a cell: the first line, marked if there are more.
fn cell_text(cell: &Node) -> String {
    match cell {
        Node::Nil => String::new(),
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => value.to_string(),
        Node::Float(value) => pintle_tree::number::format_value(*value),
        Node::Str(text) => {
            let text = text.to_str_lossy();
            match text.find(['\u{c}', '\n', '\r']) {
                Some(end) => format!("{}...", without_controls(&text[..end])),
                None => without_controls(&text),
            }
        }
        other => {
            String::from_utf8_lossy(&pintle_tree::json::write_raw(other).unwrap_or_default()).into_owned()
        }
    }
}

/// Escapes control characters.
fn without_controls(text: &str) -> String {
    text.replace('\u{1b}', "^[").replace('\t', " ")
}

/// Appends the rows with all cells but the last padded.
fn push_padded(lines: &[Vec<String>], text: &mut String) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let wide = |at: usize| {
        let ends_here = |line: &&Vec<String>| line.len() > at + 1;
        let widths = lines.iter().filter(ends_here).map(|line| line[at].chars().count());
        widths.max().map_or(0, |width| (width + GAP).max(MIN_WIDTH))
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    for line in lines {
        for (at, cell) in line.iter().enumerate() {
            text.push_str(cell);
            if at + 1 < line.len() {
                text.push_str(&" ".repeat(widths[at].saturating_sub(cell.chars().count())));
            }
        }
        text.push('\n');
    }
}

/// The record of the release without its chart and with its objects.
pub(crate) fn record(version: &ReleaseVersion, kinds: &[(String, Vec<Object>)], id: bool) -> Record {
    let info = &version.info;
    let info = Record::default()
        .with_option("first_deployed", time(info.first_deployed.as_ref()))
        .with_option("last_deployed", time(info.last_deployed.as_ref()))
        .with_option("deleted", time(info.deleted.as_ref()))
        .with_option("description", non_empty(&info.description))
        .with_option("status", non_empty(version.status_word()))
        .with_option("rollback_revision", rollback_revision(info.rollback_revision))
        .with_option("notes", non_empty(&info.notes))
        .with_option("resources", objects(kinds));
    // Go's `omitempty` omits 0 too.
    let number = Some(i64::try_from(version.number).unwrap_or(i64::MAX)).filter(|number| *number != 0);
    let config = version.config.clone().filter(|config| !config.is_empty());
    Record::default()
        .with_option("name", non_empty(&version.name))
        .with_record("info", info)
        .with_option("config", config.map(Node::Map))
        .with_option("manifest", non_empty(&version.manifest))
        .with_records("hooks", version.hooks.iter().map(hook).collect())
        .with_option("version", number.map(Node::Int))
        .with_option("namespace", non_empty(&version.namespace))
        .with_option("apply_method", non_empty(&version.apply_method))
        .with_option("permissions", permissions(version))
        .with_option("id", version.id.as_ref().filter(|_| id).map(ToString::to_string))
}

/// The permissions of the scripts, if any; Helm has no such field.
fn permissions(version: &ReleaseVersion) -> Option<Node> {
    let granted = pintle::ops::granted_permissions(version);
    let names: Vec<Node> = granted.iter().map(|permission| Node::from(permission.as_str())).collect();
    (!names.is_empty()).then_some(Node::List(names))
}

fn objects(kinds: &[(String, Vec<Object>)]) -> Option<Node> {
    let mut map = Map::new();
    for (kind, objects) in kinds {
        let list = objects.iter().map(|object| Node::Map(object.body().clone())).collect();
        map.insert(kind.as_str().into(), Node::List(list));
    }
    Some(Node::Map(map)).filter(|_| !kinds.is_empty())
}

fn hook(hook: &StoredHook) -> Record {
    let texts = |texts: Vec<&str>| {
        let list = texts.iter().map(|text| Node::from(*text)).collect();
        Some(Node::List(list)).filter(|_| !texts.is_empty())
    };
    let run = Record::default()
        .with_option("started_at", time(hook.last_run.started.as_ref()))
        .with_option("completed_at", time(hook.last_run.completed.as_ref()))
        .with("phase", hook.last_run.phase.as_str());
    Record::default()
        .with_option("name", non_empty(&hook.name))
        .with_option("kind", non_empty(&hook.kind))
        .with_option("path", non_empty(&hook.path))
        .with_option("manifest", non_empty(&hook.manifest))
        .with_option("events", texts(hook.events.iter().map(|event| event.as_str()).collect()))
        .with_record("last_run", run)
        .with_option("weight", Some(hook.weight).filter(|weight| *weight != 0))
        .with_option("delete_policies", texts(hook.delete_policies.iter().map(String::as_str).collect()))
        .with_option(
            "output_log_policies",
            texts(hook.output_log_policies.iter().map(String::as_str).collect()),
        )
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn time(moment: Option<&Timestamp>) -> Option<String> {
    moment.map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(json: &str) -> Object {
        Object::read_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn equal_headings_are_printed_once_and_wide_columns_not_at_all() {
        let columns = r#""columnDefinitions":[{"name":"Name"},{"name":"Ready"},{"name":"IP","priority":1},{"name":"Age"}]"#;
        let one = table(&format!(
            r#"{{"kind":"Table",{columns},"rows":[{{"cells":["web-1","1/1","10.0.0.1","5m"]}}]}}"#
        ));
        let two = table(&format!(r#"{{"kind":"Table",{columns},"rows":[{{"cells":["a",null,7,"x\ny"]}}]}}"#));
        let kinds = [("v1/Pod".to_owned(), vec![one, two])];
        assert_eq!(
            tables(&kinds),
            "==> v1/Pod\nNAME    READY   AGE\nweb-1   1/1     5m\na           x...\n\n"
        );
    }

    #[test]
    fn headings_are_as_wide_as_whole_cells_in_bytes() {
        let columns = r#""columnDefinitions":[{"name":"Name"},{"name":"Note"},{"name":"Num"}]"#;
        let one = |note: &str| {
            let rows = format!(r#""rows":[{{"cells":["x",{note},1]}}]"#);
            tables(&[("v1/X".to_owned(), vec![table(&format!(r#"{{"kind":"Table",{columns},{rows}}}"#))])])
        };
        let wide = one(r#""éééééééé""#);
        assert_eq!(wide, "==> v1/X\nNAME   NOTE               NUM\nx      éééééééé           1\n\n");
        assert_eq!(one(r#""ab\ncdefgh""#), "==> v1/X\nNAME   NOTE        NUM\nx      ab...       1\n\n");
        assert_eq!(one(r#""abc""#), "==> v1/X\nNAME   NOTE   NUM\nx      abc    1\n\n");
    }
}
