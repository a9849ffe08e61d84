//! Images split over the entries of a map, or over sibling keys.

use pintle_tree::{Map, Node, Str};

use super::{Context, Search, keys, part, text};
use crate::shape::{Issue, Part, Role, Shape};
use crate::value_path::ValuePath;

impl<'s> Search<'s> {
    /// Detects the image that the map itself is, and images split over sibling keys. Returns the keys that were
    /// consumed.
    pub(super) fn map_image(&mut self, map: &Map<Node>, path: &ValuePath, context: Context<'s>) -> Vec<Str> {
        let mut taken = Vec::new();
        self.whole_map(map, path, context, &mut taken);
        for (key, node) in map.iter() {
            let Some(text) = node.as_str() else { continue };
            let names =
                keys::is_image(key) || keys::is_image_name(key) || (context.names && text.contains('/'));
            if names && !taken.contains(key) && !text.is_empty() {
                self.siblings(map, path, context, (key, text), &mut taken);
            }
        }
        taken
    }

    /// A map that is one image: `{registry, repository, tag, digest}` and variants of it.
    fn whole_map(&mut self, map: &Map<Node>, path: &ValuePath, context: Context<'s>, taken: &mut Vec<Str>) {
        let Some(named) = naming(map, context) else { return };
        let mut image = PartCollector { map, path, parts: Vec::new(), issues: Vec::new(), taken };
        image.text(Role::Registry, &keys::REGISTRY);
        for (role, key) in &named {
            image.text(*role, &[key]);
        }
        // Outside an image map, `version` is the version of something else.
        let tags = if context.image_key { &keys::TAG[..] } else { &keys::TAG[..2] };
        let has_tag = image.tag(tags);
        let has_digest = image.text(Role::Digest, &keys::DIGEST);
        if !has_tag && !has_digest {
            image.issues.push(Issue::NoTagKey);
        }
        let (parts, issues) = (image.parts, image.issues);
        self.add(context, path, Shape::Map, parts, issues);
    }

    /// An image string whose tag, registry or digest may be under sibling keys.
    fn siblings(
        &mut self,
        map: &Map<Node>,
        path: &ValuePath,
        context: Context<'s>,
        (key, text): (&Str, &str),
        taken: &mut Vec<Str>,
    ) {
        let Some(name) = key.as_str() else { return };
        let keys = keys::sibling_keys(name);
        let mut image = PartCollector { map, path, parts: Vec::new(), issues: Vec::new(), taken };
        if !text::has_suffix(text) && !text.contains("{{") {
            let known = |names: &[String]| names.iter().any(|name| map.contains_key(name));
            if known(&keys.registry) && !text::has_registry(text) {
                image.text(Role::Registry, &strs(&keys.registry));
            }
            if known(&keys.tag) || known(&keys.digest) {
                image.parts.push(part(Role::Repository, path, key, text));
                image.tag(&strs(&keys.tag));
                image.text(Role::Digest, &strs(&keys.digest));
                image.taken.push(key.clone());
                let (parts, issues) = (image.parts, image.issues);
                return self.add(context, path, Shape::Siblings, parts, issues);
            }
        }
        // A bare name such as `nginx` is ambiguous unless the key is `image` itself.
        let names_image = key == "image" || text.contains(['/', ':']);
        if names_image && text::may_be_image(text) {
            image.taken.push(key.clone());
            let (mut parts, issues) = (image.parts, image.issues);
            let (role, shape) = match parts.is_empty() {
                true => (Role::Whole, Shape::String),
                false => (Role::Repository, Shape::Siblings),
            };
            parts.push(part(role, path, key, text));
            let location = if shape == Shape::String { path.key(key.clone()) } else { path.clone() };
            self.add(context, &location, shape, parts, issues);
        }
    }
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Collects the parts of one image.
struct PartCollector<'g> {
    map: &'g Map<Node>,
    path: &'g ValuePath,
    parts: Vec<Part>,
    issues: Vec<Issue>,
    taken: &'g mut Vec<Str>,
}

impl PartCollector<'_> {
    /// Adds the string under the first of `keys` that exists. Returns whether one exists (null counts: the chart
    /// fills it in).
    fn text(&mut self, role: Role, keys: &[&str]) -> bool {
        for key in keys {
            match self.map.get(key) {
                Some(Node::Str(text)) => {
                    let key = Str::from(*key);
                    self.parts.push(part(role, self.path, &key, &text.to_str_lossy()));
                    self.taken.push(key);
                    return true;
                }
                Some(Node::Nil) => return true,
                _ => {}
            }
        }
        false
    }

    /// Adds the tag, which charts often leave unquoted, so that YAML reads a number.
    fn tag(&mut self, keys: &[&str]) -> bool {
        let number = keys.iter().find_map(|key| {
            let text = match self.map.get(key)? {
                Node::Int(number) => number.to_string(),
                Node::Float(number) => pintle_yaml::decode::number_text(*number),
                Node::Bool(value) => value.to_string(),
                _ => return None,
            };
            Some((Str::from(*key), text))
        });
        match number {
            Some((key, text)) if !self.has_text(keys) => {
                self.parts.push(part(Role::Tag, self.path, &key, &text));
                self.taken.push(key);
                self.issues.push(Issue::NumberAsTag(text));
                true
            }
            _ => self.text(Role::Tag, keys),
        }
    }

    fn has_text(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.map.get(key).is_some_and(|node| node.as_str().is_some()))
    }
}

/// The keys that name an image in this map; `None` if the map is not an image.
fn naming(map: &Map<Node>, context: Context<'_>) -> Option<Vec<(Role, &'static str)>> {
    let text = |key: &str| map.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(key));
    for key in keys::REPOSITORY {
        let Some(repository) = text(key) else { continue };
        let is_image = context.image_key || has(&keys::EVIDENCE);
        if !is_image || (!context.image_key && text::is_source_code(repository)) {
            return None;
        }
        let name =
            text("name").filter(|name| context.image_key && text("registry").is_none() && is_last_name(name));
        return Some(match name {
            Some(_) => vec![(Role::Repository, key), (Role::Name, "name")],
            None => vec![(Role::Repository, key)],
        });
    }
    if text("image").is_some()
        && (context.image_key || (text("registry").is_some() && has(&["tag", "digest"])))
    {
        return Some(vec![(Role::Repository, "image")]);
    }
    if text("name").is_some() && context.image_key && has(&["tag", "version", "registry", "digest"]) {
        return Some(vec![(Role::Repository, "name")]);
    }
    None
}

fn is_last_name(name: &str) -> bool {
    !name.contains('/') && text::may_be_image(name)
}
