//! Responses, masked so that two servers can be compared.

use pintle_tree::{Map, Node, Str, json};

use super::case::Case;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) content_type: String,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// A response as it is compared and recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Masked {
    head: String,
    body: Node,
}

impl Answer {
    /// The body as a tree: of JSON, of JSON lines, or of text.
    pub(crate) fn tree(&self) -> Node {
        if self.content_type == "application/yaml" {
            return pintle_yaml::read_exact(&self.body).unwrap_or_default();
        }
        if let Ok(node) = json::read_exact(&self.body) {
            return node;
        }
        let lines: Vec<&[u8]> =
            self.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let trees: Result<Vec<Node>, _> = lines.iter().map(|line| json::read_exact(line)).collect();
        match trees {
            Ok(trees) => Node::List(trees),
            Err(_) => Node::from(String::from_utf8_lossy(&self.body).into_owned()),
        }
    }

    pub(crate) fn masked(&self, case: &Case, namespace: &str) -> Masked {
        let mut body = self.tree();
        if let Node::List(events) = &mut body {
            events.retain(|event| !is_periodic_bookmark(event));
        }
        for path in &case.ignored {
            remove(&mut body, &path.split('.').collect::<Vec<_>>());
        }
        mask(&mut body, "", namespace);
        let mut head = format!("{} {}", self.code, self.content_type).trim_end().to_owned();
        for warning in &self.warnings {
            head.push_str("\nWarning: ");
            head.push_str(&warning.replace(namespace, "{ns}"));
        }
        Masked { head, body }
    }
}

impl Masked {
    pub(crate) fn write(&self) -> String {
        let body = match &self.body {
            Node::Str(text) => text.to_string(),
            tree => String::from_utf8(json::write_pretty(tree).unwrap()).unwrap(),
        };
        format!("{}\n\n{body}\n", self.head)
    }

    pub(crate) fn read(text: &str) -> Masked {
        let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
        let body = body.strip_suffix('\n').unwrap_or(body);
        let body = json::read_exact(body.as_bytes()).unwrap_or_else(|_| Node::from(body));
        Masked { head: head.trim().to_owned(), body }
    }

    /// The same with `managedFields` sorted, because their order depends on the second of each write.
    pub(crate) fn in_any_order(mut self) -> Masked {
        sort_managers(&mut self.body);
        self
    }

    /// The first difference between two responses.
    pub(crate) fn difference(&self, other: &Masked) -> Option<String> {
        if self.head != other.head {
            let message =
                |it: &Masked| it.body.get("message").and_then(Node::as_str).unwrap_or_default().to_owned();
            return Some(format!(
                "{}\n      not\n      {} ({}) ({})",
                other.head,
                self.head,
                message(self),
                message(other)
            ));
        }
        difference("", &self.body, &other.body)
    }
}

fn difference(path: &str, wanted: &Node, found: &Node) -> Option<String> {
    match (wanted, found) {
        (Node::Map(wanted), Node::Map(found)) => {
            let missing = wanted.iter().find(|(key, _)| !found.contains_key(key));
            let extra = found.iter().find(|(key, _)| !wanted.contains_key(key));
            if let Some((key, value)) = missing {
                return Some(format!("{path}.{key}: nothing, not {}", short(value)));
            }
            if let Some((key, value)) = extra {
                return Some(format!("{path}.{key}: {}, not nothing", short(value)));
            }
            wanted
                .iter()
                .find_map(|(key, value)| difference(&format!("{path}.{key}"), value, found.get(key)?))
        }
        (Node::List(wanted), Node::List(found)) if wanted.len() == found.len() => {
            let pairs = wanted.iter().zip(found).enumerate();
            pairs.into_iter().find_map(|(index, (a, b))| difference(&format!("{path}[{index}]"), a, b))
        }
        (wanted, found) if wanted == found => None,
        (wanted, found) => Some(format!("{path}: {}\n      not\n      {}", short(found), short(wanted))),
    }
}

fn sort_managers(node: &mut Node) {
    match node {
        Node::Map(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Node::List(list) if *key == *"managedFields" => {
                        list.sort_by_cached_key(|it| json::write_raw(it).unwrap_or_default());
                    }
                    value => sort_managers(value),
                }
            }
        }
        Node::List(list) => list.iter_mut().for_each(sort_managers),
        _ => {}
    }
}

fn short(node: &Node) -> String {
    let text = String::from_utf8(json::write_raw(node).unwrap_or_default()).unwrap_or_default();
    if text.len() > 600 { format!("{}…", text.chars().take(600).collect::<String>()) } else { text }
}

/// The value at a path such as `items.0.metadata.name`.
pub(crate) fn value_at<'n>(node: &'n Node, path: &str) -> Option<&'n Node> {
    path.split('.').try_fold(node, |node, step| match node {
        Node::List(list) => list.get(step.parse::<usize>().ok()?),
        node => node.get(step),
    })
}

/// Whether it is a periodic bookmark. It depends on timing whether one arrives within the second of a case.
fn is_periodic_bookmark(event: &Node) -> bool {
    value_at(event, "type").and_then(Node::as_str) == Some("BOOKMARK")
        && value_at(event, "object.metadata.annotations").is_none()
}

fn remove(node: &mut Node, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    match node {
        Node::Map(map) if rest.is_empty() && *first != "*" => drop(map.remove(first)),
        Node::Map(map) => {
            let chosen = map.iter_mut().filter(|(key, _)| *first == "*" || **key == **first);
            chosen.for_each(|(_, child)| remove(child, rest));
        }
        Node::List(list) => {
            let chosen =
                list.iter_mut().enumerate().filter(|(index, _)| *first == "*" || *first == index.to_string());
            chosen.for_each(
                |(_, child)| if rest.is_empty() { *child = Node::Nil } else { remove(child, rest) },
            );
        }
        _ => {}
    }
}

const BY_KEY: [&str; 3] = ["resourceVersion", "uid", "continue"];

fn mask(node: &mut Node, key: &str, namespace: &str) {
    match node {
        Node::Map(map) => {
            let taken = std::mem::replace(map, Map::new());
            for (key, mut value) in taken {
                let name = key.to_str_lossy().into_owned();
                mask(&mut value, &name, namespace);
                map.insert(Str::from(plain(&name, namespace)), value);
            }
        }
        Node::List(list) => list.iter_mut().for_each(|item| mask(item, key, namespace)),
        Node::Str(text) if BY_KEY.contains(&key) && !text.is_empty() => {
            *node = Node::from(format!("<{key}>"))
        }
        Node::Str(text) => *node = Node::from(plain(&text.to_str_lossy(), namespace)),
        _ => {}
    }
}

/// Masks uids, times and the namespace anywhere in a text.
fn plain(text: &str, namespace: &str) -> String {
    let text = text.replace(namespace, "{ns}");
    let text = replace_shape(&text, "########-####-####-####-############", "<uid>");
    let text = replace_shape(&text, "dddd-dd-ddTdd:dd:dd.ddddddZ", "<time>");
    replace_shape(&text, "dddd-dd-ddTdd:dd:ddZ", "<time>")
}

/// Replaces text that matches a pattern, in which `#` is a hexadecimal and `d` a decimal digit.
fn replace_shape(text: &str, shape: &str, with: &str) -> String {
    let fits = |bytes: &[u8]| {
        bytes.len() >= shape.len()
            && shape.bytes().zip(bytes).all(|(shape, byte)| match shape {
                b'#' => byte.is_ascii_hexdigit(),
                b'd' => byte.is_ascii_digit(),
                other => *byte == other,
            })
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if fits(rest.as_bytes()) {
            out.push_str(with);
            rest = &rest[shape.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}
