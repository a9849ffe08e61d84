//! Explanations of values and rendered lines, as text and as JSON.

use pintle::ops::{ExplainedLine, ExplainedValue, ValueReader};
use pintle::render::TemplateLine;
use pintle::tree::{Map, Node, json as tree_json};
use pintle::values::{Layer, Origin, Via};

/// A tree as JSON text.
pub(super) fn json(node: Node) -> String {
    let text = tree_json::write_pretty(&node).unwrap_or_default();
    format!("{}\n", String::from_utf8_lossy(&text))
}

/// One value in full.
pub(super) fn value_text(value: &ExplainedValue) -> String {
    let mut text = format!("{} = {}\n", value.path, spelled(&value.value));
    let set_by = vec![source_text(value.origin.as_ref())];
    section(&mut text, "set by", &set_by);
    let overridden = value
        .overridden
        .iter()
        .map(|origin| format!("{}: {}", source_text(Some(origin)), spelled(&origin.value)));
    section(&mut text, "overrides", &overridden.collect::<Vec<_>>());
    let readers = value.readers.iter().map(|reader| reader_text(value, reader));
    section(&mut text, "read by", &readers.collect::<Vec<_>>());
    text
}

/// Many values, one line each.
pub(super) fn values_rows(values: &[ExplainedValue]) -> Vec<Vec<String>> {
    let mut rows = vec![["PATH", "VALUE", "SET BY", "READ BY"].map(str::to_owned).to_vec()];
    for value in values {
        let readers = match value.readers.len() {
            0 => String::new(),
            1 => location(&value.readers[0].at),
            more => format!("{} and {} more", location(&value.readers[0].at), more - 1),
        };
        let shown = shortened(&spelled(&value.value));
        rows.push(vec![value.path.to_string(), shown, source_text(value.origin.as_ref()), readers]);
    }
    rows
}

/// A rendered line.
pub(super) fn line_text(line: &ExplainedLine) -> String {
    let mut text = format!("{}:{}: {}\n", line.file, line.line, line.text.trim());
    section(&mut text, "written by", &line.templates.iter().map(location).collect::<Vec<_>>());
    section(&mut text, "values", &line.values.iter().map(short_value).collect::<Vec<_>>());
    section(&mut text, "fields", &line.fields);
    let conditions = line.conditions.iter().map(|condition| {
        let values = condition.values.iter().map(short_value).chain(condition.fields.iter().cloned());
        let values: Vec<String> = values.collect();
        match values.is_empty() {
            true => location(&condition.at),
            false => format!("{}: {}", location(&condition.at), values.join(", ")),
        }
    });
    section(&mut text, "inside", &conditions.collect::<Vec<_>>());
    text
}

/// A value as JSON.
pub(super) fn value_tree(value: &ExplainedValue) -> Node {
    let readers = value.readers.iter().map(|reader| {
        map(vec![
            ("template", reader.at.template.as_str().into()),
            ("line", number(reader.at.line)),
            ("path", reader.path.to_string().into()),
        ])
    });
    map(vec![
        ("path", value.path.to_string().into()),
        ("value", value.value.clone()),
        ("setBy", value.origin.as_ref().map_or(Node::Nil, origin_tree)),
        ("overrides", Node::List(value.overridden.iter().map(origin_tree).collect())),
        ("readBy", Node::List(readers.collect())),
    ])
}

/// A rendered line as JSON.
pub(super) fn line_tree(line: &ExplainedLine) -> Node {
    let fields = |fields: &[String]| Node::List(fields.iter().map(|name| name.as_str().into()).collect());
    let values = |values: &[ExplainedValue]| Node::List(values.iter().map(read_tree).collect());
    let conditions = line.conditions.iter().map(|condition| {
        map(vec![
            ("template", condition.at.template.as_str().into()),
            ("line", number(condition.at.line)),
            ("values", values(&condition.values)),
            ("fields", fields(&condition.fields)),
        ])
    });
    map(vec![
        ("file", line.file.as_str().into()),
        ("line", number(line.line)),
        ("text", line.text.as_str().into()),
        ("writtenBy", Node::List(line.templates.iter().map(place_tree).collect())),
        ("values", values(&line.values)),
        ("fields", fields(&line.fields)),
        ("inside", Node::List(conditions.collect())),
    ])
}

/// A value that a line reads.
fn read_tree(value: &ExplainedValue) -> Node {
    map(vec![
        ("path", value.path.to_string().into()),
        ("value", value.value.clone()),
        ("setBy", value.origin.as_ref().map_or(Node::Nil, origin_tree)),
    ])
}

fn origin_tree(origin: &Origin) -> Node {
    let mut entries = vec![
        ("layer", origin.layer.name().into()),
        ("source", origin.source.as_str().into()),
        ("path", origin.path.to_string().into()),
        ("value", origin.value.clone()),
    ];
    if let Some(line) = origin.line {
        entries.push(("line", number(line)));
    }
    match &origin.via {
        Via::Path => {}
        Via::Global => entries.push(("global", true.into())),
        Via::Import(chart) => entries.push(("importedFrom", chart.as_str().into())),
    }
    map(entries)
}

fn place_tree(at: &TemplateLine) -> Node {
    map(vec![("template", at.template.as_str().into()), ("line", number(at.line))])
}

fn number(value: usize) -> Node {
    Node::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn map(entries: Vec<(&str, Node)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map<Node>>())
}

/// A source with its position.
pub(crate) fn source_text(origin: Option<&Origin>) -> String {
    let Some(origin) = origin else {
        return "no source: a script or a template function changed it".to_owned();
    };
    let location = match (origin.layer, origin.line) {
        (Layer::Flag(name), _) => format!("--{name} {}", shortened(&origin.source)),
        (Layer::Release, _) => format!("the values that release {} was installed with", origin.source),
        (_, Some(line)) => format!("{}:{line}", origin.source),
        (_, None) => origin.source.clone(),
    };
    let what = match origin.layer {
        Layer::ChartDefault | Layer::Flag(_) | Layer::Release | Layer::Tree => "",
        Layer::ParentChart => ", for its subchart",
        Layer::SubchartDefault => ", of the subchart",
        Layer::ValuesFile => ", given with -f",
    };
    match &origin.via {
        Via::Path => format!("{location}{what}"),
        Via::Global => format!("{location}{what}, as global {}", origin.path),
        Via::Import(chart) => format!("{location}{what}, imported from {chart} ({})", origin.path),
    }
}

/// A template line, with the path that it reads if that is another.
fn reader_text(value: &ExplainedValue, reader: &ValueReader) -> String {
    match reader.path == value.path {
        true => location(&reader.at),
        false => format!("{} (reads {})", location(&reader.at), reader.path),
    }
}

fn short_value(value: &ExplainedValue) -> String {
    let set_by = value.origin.as_ref().map(|origin| format!(" ({})", source_text(Some(origin))));
    format!("{} = {}{}", value.path, shortened(&spelled(&value.value)), set_by.unwrap_or_default())
}

fn location(at: &TemplateLine) -> String {
    match at.template.as_str() {
        "gotpl" => format!("line {} of a text that tpl evaluates", at.line),
        template => format!("{template}:{}", at.line),
    }
}

fn spelled(node: &Node) -> String {
    String::from_utf8_lossy(&tree_json::write_raw(node).unwrap_or_default()).into_owned()
}

/// At most as much of a text as fits into a column.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.len() < text.len() => format!("{line}…"),
        None => line.to_owned(),
    }
}

/// Appends lines below a label.
fn section(text: &mut String, label: &str, lines: &[String]) {
    for (index, line) in lines.iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        text.push_str(&format!("  {label:<11} {line}\n"));
    }
}
