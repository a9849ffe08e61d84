//! Edits mapping files line by line, so that comments and order are kept.

use pintle_tree::{Map, Node, Str};

use super::{MappingFile, lines};
use crate::error::Result;
use crate::registry::{Source, Target};

/// Adds a mapping to the text of a mapping file (which may be empty), or changes the target of an existing entry.
/// Returns the new text, and whether the entry existed.
///
/// # Errors
/// When the file, the source or the target is invalid.
pub fn set(file: &str, text: &str, source: &str, target: &str) -> Result<(String, bool)> {
    let wanted = Source::parse(source)?;
    let target = Target::parse(target)?.to_string();
    if !text.trim().is_empty() {
        MappingFile::parse(file, text.as_bytes())?;
    }
    let tree = tree(text);
    let position = position(&tree, &wanted);
    let edited = match position {
        Some(index) => with_target(text, index, &target),
        None => with_entry(text, source, &target),
    };
    let expected = match position {
        Some(index) => change(tree, |list| {
            if let Some(entry) = list.get_mut(index).and_then(Node::as_map_mut) {
                entry.insert("target".into(), Node::from(target.as_str()));
            }
        }),
        None => change(tree, |list| list.push(entry(source, &target))),
    };
    // Editing lines is a guess about the layout of the file, so its result is checked against the tree.
    let text = verified_or_rewritten(edited, expected);
    // The new entry itself may be invalid: a source that no image names, or a target without a path.
    MappingFile::parse(file, text.as_bytes())?;
    Ok((text, position.is_some()))
}

/// Removes a mapping from the text of a mapping file; `None` if there is no such entry.
///
/// # Errors
/// When the file or the source is invalid.
pub fn remove(file: &str, text: &str, source: &str) -> Result<Option<String>> {
    let wanted = Source::parse(source)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    MappingFile::parse(file, text.as_bytes())?;
    let tree = tree(text);
    let Some(index) = position(&tree, &wanted) else { return Ok(None) };
    let expected = change(tree, |list| {
        if index < list.len() {
            list.remove(index);
        }
    });
    Ok(Some(verified_or_rewritten(without_entry(text, index), expected)))
}

fn tree(text: &str) -> Map<Node> {
    match pintle_yaml::read(text.as_bytes()) {
        Ok(Node::Map(map)) => map,
        _ => Map::new(),
    }
}

/// The index of the entry for a source.
fn position(tree: &Map<Node>, wanted: &Source) -> Option<usize> {
    let list = tree.get("registries")?.get("mappings")?.as_list()?;
    let source = |entry: &Node| Source::parse(entry.get("source")?.as_str()?).ok();
    list.iter().position(|entry| source(entry).as_ref() == Some(wanted))
}

fn entry(source: &str, target: &str) -> Node {
    Node::Map(Map::from_entries(vec![
        (Str::from("source"), Node::from(source)),
        (Str::from("target"), Node::from(target)),
    ]))
}

/// Edits the list of mappings, creating it if needed.
fn change(mut tree: Map<Node>, edit: impl FnOnce(&mut Vec<Node>)) -> Map<Node> {
    let registries = tree.entry_or_insert_with(&"registries".into(), Node::empty_map);
    if let Some(registries) = registries.as_map_mut() {
        let list = registries.entry_or_insert_with(&"mappings".into(), || Node::List(Vec::new()));
        if list.is_nil() {
            *list = Node::List(Vec::new());
        }
        if let Node::List(list) = list {
            edit(list);
        }
    }
    tree
}

/// Returns the edited text if it parses to `expected`. Otherwise (flow style, anchors) the file is rewritten,
/// which loses comments but is never wrong.
fn verified_or_rewritten(edited: Option<String>, expected: Map<Node>) -> String {
    let expected = Node::Map(expected);
    match edited.filter(|text| pintle_yaml::read(text.as_bytes()).is_ok_and(|tree| tree == expected)) {
        Some(text) => text,
        None => {
            let text = pintle_yaml::write(&expected).unwrap_or_default();
            String::from_utf8_lossy(&text).into_owned()
        }
    }
}

fn scalar(text: &str) -> String {
    if text.starts_with(['*', '[']) { format!("'{text}'") } else { text.to_owned() }
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn with_target(text: &str, index: usize, target: &str) -> Option<String> {
    let start = *lines::item_lines(text.as_bytes(), "mappings").get(index)?;
    let at = lines::key_line_in_item(text.as_bytes(), "target", start);
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = all.get_mut(at - 1)?;
    let colon = line.find("target:")? + "target:".len();
    let comment = line[colon..].find(" #").map(|found| line[colon + found..].to_owned()).unwrap_or_default();
    *line = format!("{} {}{comment}", &line[..colon], scalar(target));
    Some(joined(&all))
}

fn with_entry(text: &str, source: &str, target: &str) -> Option<String> {
    let (source, target) = (scalar(source), scalar(target));
    if text.trim().is_empty() {
        return Some(format!("registries:\n  mappings:\n  - source: {source}\n    target: {target}\n"));
    }
    let start = *lines::item_lines(text.as_bytes(), "mappings").last()?;
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let indent = " ".repeat(depth(all.get(start - 1)?));
    let end = item_end(&all, start);
    all.insert(end, format!("{indent}- source: {source}"));
    all.insert(end + 1, format!("{indent}  target: {target}"));
    Some(joined(&all))
}

fn without_entry(text: &str, index: usize) -> Option<String> {
    let start = *lines::item_lines(text.as_bytes(), "mappings").get(index)?;
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let end = item_end(&all, start);
    all.drain(start - 1..end);
    Some(joined(&all))
}

/// The line number of the last content line of the item that starts on line `start`.
fn item_end(all: &[String], start: usize) -> usize {
    let level = all.get(start - 1).map_or(0, |line| depth(line));
    let rest = all.iter().enumerate().skip(start);
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let inside = rest.take_while(|(_, line)| !is_content(line) || depth(line) > level);
    inside.filter(|(_, line)| is_content(line)).last().map_or(start, |(index, _)| index + 1)
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# ours
registries:
  mappings:
    # the hub
    - source: docker.io
      target: hub.corp/docker # mirror
    - target: hub.corp/quay
      source: quay.io

  strictMode: true
";

    #[test]
    fn entries_are_added_and_changed_where_they_are() {
        let (text, known) = set("m.yaml", "", "docker.io", "hub.corp/d").unwrap();
        assert_eq!(text, "registries:\n  mappings:\n  - source: docker.io\n    target: hub.corp/d\n");
        assert!(!known);
        let (text, known) = set("m.yaml", FILE, "index.docker.io", "new.corp/d").unwrap();
        assert_eq!(text, FILE.replace("hub.corp/docker #", "new.corp/d #"));
        assert!(known);
        let (text, _) = set("m.yaml", FILE, "*.gcr.io", "hub.corp/g").unwrap();
        let added = "source: quay.io\n    - source: '*.gcr.io'\n      target: hub.corp/g\n";
        assert_eq!(text, FILE.replace("source: quay.io\n", added));
    }

    #[test]
    fn entries_are_taken_out() {
        let text = remove("m.yaml", FILE, "quay.io").unwrap().unwrap();
        assert_eq!(text, FILE.replace("    - target: hub.corp/quay\n      source: quay.io\n", ""));
        assert_eq!(remove("m.yaml", FILE, "gcr.io").unwrap(), None);
        let one = "registries:\n  mappings:\n  - {source: a.b, target: c/d}\n";
        assert_eq!(remove("m.yaml", one, "a.b").unwrap().unwrap(), "registries:\n  mappings: []\n");
    }

    #[test]
    fn files_in_another_style_are_rewritten() {
        let flow = "registries: {mappings: [{source: a.b, target: c/d}]}\n";
        let (text, _) = set("m.yaml", flow, "x.y", "c/e").unwrap();
        assert_eq!(
            text,
            "registries:\n  mappings:\n  - source: a.b\n    target: c/d\n  - source: x.y\n    target: c/e\n"
        );
    }

    #[test]
    fn wrong_targets_are_refused() {
        assert!(set("m.yaml", "", "docker.io", "hub.corp").is_err());
        assert!(set("m.yaml", "", "foo;bar", "hub.corp/x").is_err());
    }
}
