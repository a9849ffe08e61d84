//! Templates of ApplicationSets, and globs.

use pintle_gotmpl::{Exec, Functions, Limits, Set, Value};
use pintle_tree::{Map, Node};

use crate::Snapshot;

const MAX_DEPTH: usize = 64;
/// The most steps that comparing a name with a pattern takes.
const MAX_STEPS: usize = 100_000;

/// Replaces `{{name}}` in all texts of a tree, as ApplicationSets without `goTemplate` do.
pub(super) fn fast(node: &Node, parameters: &Map<Node>, depth: usize) -> Node {
    match node {
        Node::Str(text) => Node::from(fast_text(&text.to_str_lossy(), parameters)),
        _ => children(node, depth, &mut |child| Ok(fast(child, parameters, depth + 1))).unwrap_or_default(),
    }
}

fn fast_text(text: &str, parameters: &Map<Node>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        match lookup(parameters, name.trim()) {
            Some(value) => out.push_str(&crate::flux::scalar(value)),
            // What has no value stays as it is.
            None => out.push_str(&format!("{{{{{name}}}}}")),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A parameter by its flat name, such as `path.basename`.
fn lookup<'p>(parameters: &'p Map<Node>, name: &str) -> Option<&'p Node> {
    if let Some(found) = parameters.get(name) {
        return Some(found);
    }
    let name = name.replace('[', ".").replace(']', "");
    let mut parts = name.split('.');
    let first = parameters.get(parts.next()?)?;
    parts.try_fold(first, |node, part| match node {
        Node::List(items) => items.get(part.parse::<usize>().ok()?),
        node => node.get(part),
    })
}

/// Executes all texts of a tree as Go templates.
///
/// # Errors
/// Templates that do not parse or fail.
pub(super) fn go(node: &Node, parameters: &Map<Node>, strict: bool, depth: usize) -> Result<Node, String> {
    match node {
        Node::Str(text) if memchr::memmem::find(text.as_bytes(), b"{{").is_some() => {
            let text = go_text(&text.to_str_lossy(), parameters)?;
            if strict && text.contains("<no value>") {
                return Err(format!("a template uses a value that is not there: {text}"));
            }
            Ok(Node::from(text))
        }
        Node::Str(_) => Ok(node.clone()),
        _ => children(node, depth, &mut |child| go(child, parameters, strict, depth + 1)),
    }
}

/// Executes one text as a Go template.
pub(super) fn go_text(text: &str, parameters: &Map<Node>) -> Result<String, String> {
    let mut functions = Functions::new();
    // As in Argo CD, nothing that reads the environment or the network.
    for function in pintle_sprig::functions() {
        functions.add(function);
    }
    let mut set = Set::new(functions);
    set.parse("template", text).map_err(|error| error.to_string())?;
    let data = Value::from_node(&Node::Map(parameters.clone()));
    let mut out = Vec::new();
    Exec::new(&set, Limits::default())
        .execute("template", &data, &mut out)
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn children(
    node: &Node,
    depth: usize,
    change: &mut dyn FnMut(&Node) -> Result<Node, String>,
) -> Result<Node, String> {
    if depth > MAX_DEPTH {
        return Err("the template is nested too deeply".to_owned());
    }
    Ok(match node {
        Node::List(items) => Node::List(items.iter().map(change).collect::<Result<_, _>>()?),
        Node::Map(map) => {
            let mut changed = Map::new();
            for (key, node) in map.iter() {
                changed.insert(key.clone(), change(node)?);
            }
            Node::Map(changed)
        }
        other => other.clone(),
    })
}

/// Whether a path matches a glob: `*` within a name, `**` over folders, `?`, `[…]` and `{a,b}`.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    braces(pattern, 0).iter().any(|pattern| {
        let mut steps = 0;
        glob(pattern.as_bytes(), path.as_bytes(), &mut steps)
    })
}

/// A pattern without braces, as several.
fn braces(pattern: &str, depth: usize) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((choices, after)) = rest.split_once('}').filter(|_| depth < 4) else {
        return vec![pattern.to_owned()];
    };
    let choices = choices.split(',').map(|choice| format!("{before}{choice}{after}"));
    choices.flat_map(|pattern| braces(&pattern, depth + 1)).take(1000).collect()
}

fn glob(pattern: &[u8], path: &[u8], steps: &mut usize) -> bool {
    *steps += 1;
    if *steps > MAX_STEPS {
        return false;
    }
    match pattern {
        [] => path.is_empty(),
        [b'*', b'*', b'/', rest @ ..] => {
            glob(rest, path, steps)
                || path
                    .iter()
                    .enumerate()
                    .any(|(at, byte)| *byte == b'/' && glob(rest, &path[at + 1..], steps))
        }
        [b'*', b'*', rest @ ..] => (0..=path.len()).any(|at| glob(rest, &path[at..], steps)),
        [b'*', rest @ ..] => {
            let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
            (0..=end).any(|at| glob(rest, &path[at..], steps))
        }
        [b'?', rest @ ..] => path.first().is_some_and(|byte| *byte != b'/') && glob(rest, &path[1..], steps),
        [b'[', rest @ ..] if rest.contains(&b']') => {
            let end = rest.iter().position(|byte| *byte == b']').unwrap_or(0);
            let (set, after) = (&rest[..end], &rest[end + 1..]);
            let (set, negated) = match set {
                [b'!' | b'^', set @ ..] => (set, true),
                set => (set, false),
            };
            path.first().is_some_and(|byte| in_set(set, *byte) != negated) && glob(after, &path[1..], steps)
        }
        [byte, rest @ ..] => path.first() == Some(byte) && glob(rest, &path[1..], steps),
    }
}

fn in_set(set: &[u8], byte: u8) -> bool {
    set.contains(&byte)
        || set.windows(3).any(|range| range[1] == b'-' && (range[0]..=range[2]).contains(&byte))
}

/// The files that a pattern means, in lexical order.
pub(super) fn expand(files: &Snapshot, pattern: &str) -> Vec<String> {
    if !pattern.contains(['*', '?', '[', '{']) {
        return files.is_file(pattern).then(|| pattern.to_owned()).into_iter().collect();
    }
    files.entries().map(|(path, _)| path).filter(|path| matches(pattern, path)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_those_of_argo_cd() {
        for (pattern, path, expected) in [
            ("apps/*", "apps/web", true),
            ("apps/*", "apps/web/x", false),
            ("apps/**/config.json", "apps/a/b/config.json", true),
            ("apps/**/config.json", "apps/config.json", true),
            ("{a,b}/*.yaml", "b/x.yaml", true),
            ("*.y?ml", "a.yaml", true),
            ("[!a]*", "apps", false),
            ("[a-c]x", "bx", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_hostile_pattern_comes_to_an_end() {
        assert!(!matches(&"**a".repeat(40), &"a".repeat(200).replace("aaaa", "aaab")));
    }

    #[test]
    fn both_kinds_of_templates_replace_parameters() {
        let mut path = Map::new();
        path.insert("basename".into(), "web".into());
        let mut parameters = Map::new();
        parameters.insert("path".into(), Node::Map(path));
        assert_eq!(fast_text("{{path.basename}}-{{ none }}", &parameters), "web-{{ none }}");
        assert_eq!(go_text("{{ .path.basename | upper }}", &parameters).unwrap(), "WEB");
    }
}
