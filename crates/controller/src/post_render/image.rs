//! Replaces images as kustomize does: in every list of containers, wherever it is in an object.

use pintle_tree::{Map, Node};

use crate::request::Image;

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Replaces the name, tag or digest of an image in an object.
pub(super) fn replace(map: &mut Map<Node>, image: &Image) {
    for (key, value) in map.iter_mut() {
        let is_container_list = CONTAINERS.iter().any(|name| key.as_ref() == name.as_bytes());
        match value {
            Node::Map(map) => replace(map, image),
            Node::List(items) => {
                for item in items {
                    let Node::Map(item) = item else { continue };
                    if is_container_list && let Some(Node::Str(text)) = item.get_mut("image") {
                        let replaced = replaced(&text.to_string(), image);
                        *text = replaced.as_str().into();
                    }
                    replace(item, image);
                }
            }
            _ => {}
        }
    }
}

fn replaced(reference: &str, image: &Image) -> String {
    let (name, rest) = split(reference);
    if name != image.name {
        return reference.to_owned();
    }
    let name = image.new_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(name);
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    match (set(&image.digest), set(&image.new_tag)) {
        (Some(digest), _) => format!("{name}@{digest}"),
        (None, Some(tag)) => format!("{name}:{tag}"),
        (None, None) => format!("{name}{rest}"),
    }
}

/// The name of an image, and its tag or digest with the separator. A colon before a slash is a port.
fn split(reference: &str) -> (&str, &str) {
    let name = reference.split('@').next().unwrap_or(reference);
    let end = name.rfind(':').filter(|at| !name[*at..].contains('/')).unwrap_or(name.len());
    reference.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_no_tags() {
        assert_eq!(split("host:5000/a/b"), ("host:5000/a/b", ""));
        assert_eq!(split("host:5000/a/b:1@sha256:x"), ("host:5000/a/b", ":1@sha256:x"));
        assert_eq!(split("a@sha256:x"), ("a", "@sha256:x"));
    }
}
