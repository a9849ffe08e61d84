//! Writes renames into the text of a values file, with its comments, order and spelling.

use pintle_tree::{Map, Node, Segment, ValuePath};
use pintle_yaml::outline::{Edits, Entry, Kind, NodeRef, Outline, patch};

use crate::error::Error;
use crate::moves::migrated;
use crate::report::Rename;

/// Stands in the way of no key while two values change places.
const PARKED: &str = "pintle-moving";

/// Moves values within a values file; `None` if it has none of them. Comments move with the values that they are about.
///
/// # Errors
/// When the text is not a map of values, or cannot be edited.
pub fn migrate(text: &[u8], moves: &[Rename]) -> Result<Option<Vec<u8>>, Error> {
    let values = pintle_yaml::read_map(text).map_err(|error| Error::Edit(error.to_string()))?;
    let own: Vec<Rename> =
        moves.iter().filter(|rename| rename.from.find(&values).is_some()).cloned().collect();
    if own.is_empty() {
        return Ok(None);
    }
    let wanted = migrated(&values, &own);
    // The result is read back: an edit that goes wrong must not be written.
    let is_wanted = |text: &Vec<u8>| pintle_yaml::read_map(text).is_ok_and(|values| values == wanted);
    let moved = moved(text, &own);
    // Values that one key became in addition are added to what was moved.
    let completed = moved.and_then(|text| if is_wanted(&text) { Some(text) } else { patch(&text, &wanted) });
    let edited = completed.filter(is_wanted).or_else(|| patch(text, &wanted));
    let failed = || Error::Edit("the values cannot be moved in this text; move them by hand".to_owned());
    edited.map(Some).ok_or_else(failed)
}

/// Moves all values one after the other. A value whose new place is taken waits until that is free.
fn moved(text: &[u8], moves: &[Rename]) -> Option<Vec<u8>> {
    let mut text = text.to_vec();
    let mut waiting: Vec<(ValuePath, ValuePath)> =
        moves.iter().map(|rename| (rename.from.clone(), rename.to.clone())).collect();
    let mut parked = 0;
    while !waiting.is_empty() {
        let values = pintle_yaml::read_map(&text).ok()?;
        let is_free = |(from, to): &(ValuePath, ValuePath)| to.find(&values).is_none() || to.is_within(from);
        match waiting.iter().position(is_free) {
            Some(index) => {
                let (from, to) = waiting.remove(index);
                text = one(&text, &from, &to)?;
            }
            None => {
                let (from, _) = waiting.first()?;
                let aside = from.parent()?.key(format!("{PARKED}-{parked}"));
                text = one(&text, from, &aside)?;
                waiting.first_mut()?.0 = aside;
                parked += 1;
                if parked > moves.len() {
                    return None;
                }
            }
        }
    }
    Some(text)
}

/// Moves one value. `None` if the text has something that only rewriting would move.
fn one(text: &[u8], from: &ValuePath, to: &ValuePath) -> Option<Vec<u8>> {
    let outline = Outline::read_first(text).ok()?;
    if outline.aliases().next().is_some() {
        return None;
    }
    if from.parent() == to.parent() {
        let entry = entry(&outline, from)?;
        let mut edits = Edits::new(&outline);
        edits.replace(entry.key.range(), key_text(to.last_key()?.as_str()?));
        return edits.apply().ok();
    }
    let (rest, block) = taken(&outline, from)?;
    inserted(&rest, to, &block)
}

/// The entry of a path of keys.
fn entry<'o>(outline: &'o Outline<'o>, path: &ValuePath) -> Option<Entry<'o>> {
    let (last, above) = path.segments().split_last()?;
    let mut node = outline.roots().next()?;
    for segment in above {
        node = node.get(key(segment)?)?;
    }
    node.entry(key(last)?)
}

fn key(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Key(key) => key.as_str(),
        Segment::Index(_) => None,
    }
}

fn key_text(key: &str) -> Vec<u8> {
    let mut map = Map::new();
    map.insert(key.into(), Node::Nil);
    let text = pintle_yaml::write(&Node::Map(map)).unwrap_or_default();
    text.strip_suffix(b": null\n").unwrap_or(key.as_bytes()).to_vec()
}

/// The lines of a value, without their indentation.
struct Block {
    /// Comments above the key, and above the maps around it that have nothing else.
    comments: Vec<String>,
    /// What follows the key: the rest of its line, and the lines of the value.
    value: Vec<String>,
}

/// Takes an entry out of a text, and the maps around it that become empty.
fn taken(outline: &Outline<'_>, path: &ValuePath) -> Option<(Vec<u8>, Block)> {
    let text = outline.text();
    let whole = entry(outline, path)?;
    if whole.value.is_in_flow() || whole.key.is_in_flow() {
        return None;
    }
    let indent = column(text, whole.key.range().start)?;
    let mut top = path.clone();
    while let Some(above) = top.parent().filter(|above| !above.segments().is_empty()) {
        let parent = entry(outline, &above)?;
        if parent.value.is_flow() {
            return None;
        }
        if parent.value.entries().count() != 1 {
            break;
        }
        top = above;
    }
    let outer = entry(outline, &top)?;
    let outer_start = line_start(text, outer.key.range().start);
    let end = end_of(outline, whole.value, whole.key);
    let mut comments = Vec::new();
    let first = comment_start(text, outer_start);
    // The lines of the maps around the value are dropped, the comments between them are not.
    for line in lines(text, first, line_start(text, whole.key.range().start)) {
        if line.trim_start().starts_with('#') {
            comments.push(line.trim_start().to_owned());
        }
    }
    let key_end = whole.key.range().end;
    let mut value = Vec::new();
    for (number, line) in lines(text, key_end, end).enumerate() {
        let is_blank = line.trim().is_empty();
        let own = match number {
            0 => line,
            _ if is_blank => "",
            _ => {
                let spaces = line.len() - line.trim_start_matches(' ').len();
                if spaces < indent && !line.trim_start().starts_with('#') {
                    return None;
                }
                &line[spaces.min(indent)..]
            }
        };
        value.push(own.to_owned());
    }
    let mut rest = text[..first].to_vec();
    rest.extend_from_slice(&text[end..]);
    Some((rest, Block { comments, value }))
}

/// Puts a value into a text, below the deepest map on its path that is there.
fn inserted(text: &[u8], path: &ValuePath, block: &Block) -> Option<Vec<u8>> {
    let outline = Outline::read_first(text).ok()?;
    let root = outline.roots().next()?;
    let keys: Option<Vec<&str>> = path.segments().iter().map(key).collect();
    let keys = keys?;
    let (mut node, mut depth) = (root, 0);
    while depth + 1 < keys.len()
        && let Some(next) = node.entry(keys[depth])
    {
        node = next.value;
        depth += 1;
    }
    let is_empty_text =
        depth == 0 && node.kind() != Kind::Mapping && text.iter().all(|&byte| byte.is_ascii_whitespace());
    if node.is_flow() || (node.kind() != Kind::Mapping && !is_empty_text) {
        return None;
    }
    let (indent, at) = match node.entries().last() {
        Some(last) => (column(text, last.key.range().start)?, end_of(&outline, last.value, last.key)),
        None if depth == 0 => (0, text.len()),
        None => return None,
    };
    let mut out = text[..at].to_vec();
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    let missing = &keys[depth..];
    for (level, key) in missing.iter().enumerate() {
        let margin = " ".repeat(indent + 2 * level);
        let is_last = level + 1 == missing.len();
        if is_last {
            block.comments.iter().for_each(|line| out.extend(format!("{margin}{line}\n").bytes()));
        }
        out.extend(margin.bytes());
        out.extend(key_text(key));
        match is_last {
            true => push_value(&mut out, &margin, &block.value),
            false => out.extend_from_slice(b":\n"),
        }
    }
    out.extend_from_slice(&text[at..]);
    Some(out)
}

fn push_value(out: &mut Vec<u8>, margin: &str, value: &[String]) {
    for (number, line) in value.iter().enumerate() {
        if number > 0 && !line.is_empty() {
            out.extend(margin.bytes());
        }
        out.extend(line.bytes());
        out.push(b'\n');
    }
}

/// The end of the lines of an entry, with the break after them.
fn end_of(outline: &Outline<'_>, value: NodeRef<'_>, key: NodeRef<'_>) -> usize {
    let text = outline.text();
    let range = value.range();
    let mut last = range.end.max(key.range().end);
    // A block scalar ends behind its last break.
    if last > 0 && text[last - 1] == b'\n' && last > key.range().end {
        last -= 1;
    }
    let end = outline.line_end(last);
    if text[end..].starts_with(b"\r\n") { end + 2 } else { (end + 1).min(text.len()) }
}

/// The start of the comment lines directly above a line.
fn comment_start(text: &[u8], start: usize) -> usize {
    let mut first = start;
    while first > 0 {
        let above = line_start(text, first - 1);
        let line = text[above..first].trim_ascii();
        if !line.starts_with(b"#") {
            break;
        }
        first = above;
    }
    first
}

fn line_start(text: &[u8], at: usize) -> usize {
    text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |before| before + 1)
}

/// The column of an offset, if only spaces precede it on its line.
fn column(text: &[u8], at: usize) -> Option<usize> {
    let start = line_start(text, at);
    text[start..at].iter().all(|&byte| byte == b' ').then_some(at - start)
}

fn lines(text: &[u8], from: usize, to: usize) -> impl Iterator<Item = &str> {
    let part = std::str::from_utf8(&text[from..to.max(from)]).unwrap_or_default();
    part.lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;

    fn renames(pairs: &[(&str, &str)]) -> Vec<Rename> {
        let rename = |(from, to): &(&str, &str)| Rename {
            from: from.parse().expect("a path"),
            to: to.parse().expect("a path"),
            also: Vec::new(),
            verdict: Verdict::Proven,
            confidence: 99,
            evidence: Vec::new(),
        };
        pairs.iter().map(rename).collect()
    }

    fn edited(text: &str, pairs: &[(&str, &str)]) -> String {
        let text = migrate(text.as_bytes(), &renames(pairs)).expect("good input").expect("a change");
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn a_key_is_renamed_where_it_is() {
        let text = "# ours\nweb:\n  # how many\n  replicas: 3   # three\n  name: x\n";
        let wanted = "# ours\nweb:\n  # how many\n  replicaCount: 3   # three\n  name: x\n";
        assert_eq!(edited(text, &[("web.replicas", "web.replicaCount")]), wanted);
    }

    #[test]
    fn a_value_moves_with_its_comments_and_its_style() {
        let text = "rbac:\n  # use ours\n  account:   # now\n    name: 'a'\n    script: |\n      x\n\n      y\n  create: true\nlast: 1\n";
        let wanted = "rbac:\n  create: true\nlast: 1\nservice:\n  # use ours\n  account:   # now\n    name: 'a'\n    script: |\n      x\n\n      y\n";
        assert_eq!(edited(text, &[("rbac.account", "service.account")]), wanted);
    }

    #[test]
    fn a_map_that_becomes_empty_goes_and_its_comments_stay() {
        let text = "a: 1\n# about b\nb:\n  # about c\n  c: 2\nd:\n  e: 3\n";
        assert_eq!(edited(text, &[("b.c", "d.c")]), "a: 1\nd:\n  e: 3\n  # about b\n  # about c\n  c: 2\n");
    }

    #[test]
    fn values_change_places() {
        let text = "ingress:   # the console\n  host: a\napiIngress:\n  host: b\n";
        let swapped = edited(text, &[("ingress", "console.ingress"), ("apiIngress", "ingress")]);
        assert_eq!(swapped, "ingress:\n  host: b\nconsole:\n  ingress:   # the console\n    host: a\n");
        let cycle = edited("a: 1\nb: 2\n", &[("a", "b"), ("b", "a")]);
        assert_eq!(cycle, "b: 1\na: 2\n");
    }

    #[test]
    fn what_cannot_be_moved_as_text_is_rewritten() {
        let text = "a: {b: 1, c: 2}\n";
        let out = edited(text, &[("a.b", "x.z")]);
        let values = pintle_yaml::read_map(out.as_bytes()).expect("good YAML");
        assert_eq!(values, pintle_yaml::read_map(b"a: {c: 2}\nx: {z: 1}").expect("good YAML"));
        assert!(migrate(b"a: 1\n", &renames(&[("b", "c")])).expect("good input").is_none());
        assert!(migrate(b"- 1\n", &renames(&[("b", "c")])).is_err());
    }

    #[test]
    fn a_value_can_move_below_itself() {
        assert_eq!(
            edited("a: 1\nmount: true\n", &[("mount", "mount.enabled")]),
            "a: 1\nmount:\n  enabled: true\n"
        );
    }
}
