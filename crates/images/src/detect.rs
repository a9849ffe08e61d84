//! Detects images in chart values by the keys and value shapes that charts conventionally use.
//!
//! Detection is a heuristic by name. It feeds the inventory that users see and covers images that the current values
//! do not render; where rendering gives a proof, the proof takes precedence.

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Str, with_stack};

use crate::path_filter::PathFilter;
use crate::shape::{Detection, Finding, GlobalRegistry, Issue, Origin, Part, Role, Shape};
use crate::value_path::{MAX_DEPTH, ValuePath};

mod embedded;
mod keys;
mod map;
mod scope;
mod text;

pub use scope::Scopes;

/// The key of the values shared by all charts of a tree.
const GLOBAL: &str = "global";

/// Detects the images in `values`, the coalesced values of the charts in `scopes`. `user` holds the user-supplied
/// values, which decide the reported origin.
pub fn detect(scopes: &Scopes<'_>, user: &Map<Node>, values: &Map<Node>, filter: &PathFilter) -> Detection {
    let mut search = Search { root: scopes, user, values, filter, found: Detection::default() };
    search.scope(scopes, values, &ValuePath::root());
    search.found.images.sort_by(|a, b| (&a.path, &a.written).cmp(&(&b.path, &b.written)));
    search.found
}

/// One pass over the values of a chart tree.
struct Search<'s> {
    root: &'s Scopes<'s>,
    user: &'s Map<Node>,
    values: &'s Map<Node>,
    filter: &'s PathFilter,
    found: Detection,
}

/// The state inherited from the ancestors of the value being visited.
#[derive(Clone, Copy)]
struct Context<'s> {
    scope: &'s Scopes<'s>,
    /// Whether an ancestor is a list.
    in_list: bool,
    /// Whether the key says that its value is an image.
    image_key: bool,
    /// Whether the keys of this map are image names, as below `images`.
    names: bool,
}

impl<'s> Search<'s> {
    fn scope(&mut self, scope: &'s Scopes<'s>, values: &Map<Node>, path: &ValuePath) {
        let context = Context { scope, in_list: false, image_key: false, names: false };
        let taken = self.map_image(values, path, context);
        for (key, node) in values.iter().filter(|(key, _)| !taken.contains(key) && !scope.is_disabled(key)) {
            let path = path.key(key.clone());
            match (scope.subscope(key), node) {
                (Some(subscope), Node::Map(values)) => self.scope(subscope, values, &path),
                _ if *key == GLOBAL => self.global(node, &path, context),
                _ => self.entry(key, node, &path, context),
            }
        }
    }

    /// Helm copies globals into every subchart, so a subchart's global counts only if no parent has the key.
    fn global(&mut self, node: &Node, path: &ValuePath, context: Context<'s>) {
        let Some(globals) = node.as_map() else { return };
        // Only the global of the root chart has a path of one segment.
        let is_top = path.segments().len() == 1;
        let above = self.values.get(GLOBAL).and_then(Node::as_map);
        for (key, node) in globals.iter() {
            if !is_top && above.is_some_and(|above| above.contains_key(key)) {
                continue;
            }
            let path = path.key(key.clone());
            if !self.global_registry(key, node, &path) {
                self.entry(key, node, &path, context);
            }
        }
    }

    /// Records a registry that applies to all images. Returns whether it was one.
    fn global_registry(&mut self, key: &Str, node: &Node, path: &ValuePath) -> bool {
        if keys::is_image(key) {
            let registry = node.get("registry").and_then(Node::as_str);
            if let Some(text) = registry.filter(|_| node.get("repository").is_none()) {
                let path = path.key("registry");
                self.found.globals.push(GlobalRegistry { path, text: text.to_owned() });
                return true;
            }
        }
        match node.as_str() {
            Some(text) if keys::is_registry(key) => {
                self.found.globals.push(GlobalRegistry { path: path.clone(), text: text.to_owned() });
                true
            }
            _ => false,
        }
    }

    fn entry(&mut self, key: &Str, node: &Node, path: &ValuePath, context: Context<'s>) {
        if path.segments().len() > MAX_DEPTH {
            return;
        }
        let image_key = keys::is_image(key) || context.names;
        let below = Context { image_key, names: keys::is_plural(key), ..context };
        match node {
            Node::Map(map) => with_stack(|| self.map(map, path, below)),
            Node::List(list) => with_stack(|| self.list(list, path, below)),
            Node::Str(text) => self.text(text, path, below),
            _ => {}
        }
    }

    fn map(&mut self, map: &Map<Node>, path: &ValuePath, context: Context<'s>) {
        let taken = self.map_image(map, path, context);
        // A key names only its direct value, not deeper descendants.
        let inner = Context { image_key: false, ..context };
        for (key, node) in map.iter().filter(|(key, _)| !taken.contains(key)) {
            self.entry(key, node, &path.key(key.clone()), inner);
        }
    }

    fn list(&mut self, list: &[Node], path: &ValuePath, context: Context<'s>) {
        if path.segments().len() > MAX_DEPTH {
            return;
        }
        let context = Context { in_list: true, ..context };
        let item = Context { image_key: context.image_key || context.names, names: false, ..context };
        for (index, node) in list.iter().enumerate() {
            let path = path.index(index);
            match node {
                Node::Map(map) => with_stack(|| self.map(map, &path, item)),
                Node::List(list) => with_stack(|| self.list(list, &path, item)),
                Node::Str(text) => self.text(text, &path, item),
                _ => {}
            }
        }
    }

    /// Records an image unless the filter excludes it.
    fn add(
        &mut self,
        context: Context<'s>,
        path: &ValuePath,
        shape: Shape,
        parts: Vec<Part>,
        issues: Vec<Issue>,
    ) {
        let draft = text::compose(&parts);
        let mut finding = Finding {
            path: path.clone(),
            chart: context.scope.chart_path.clone(),
            shape,
            reference: None,
            assumed_tag: None,
            origin: Origin::User,
            written: draft,
            parts,
            issues,
        };
        text::parse_reference(&mut finding);
        if context.in_list {
            finding.issues.push(Issue::InList);
        }
        if !self.filter.allows(finding.naming_path()) {
            return;
        }
        finding.origin = self.root.origin(self.user, finding.naming_path());
        finding.assumed_tag = assumed_tag(&finding, context.scope.chart);
        self.found.images.push(finding);
    }
}

/// The tag a chart most likely uses where values have none: `appVersion` for maps, else `latest`.
fn assumed_tag(finding: &Finding, chart: &Chart) -> Option<String> {
    let reference = finding.reference.as_ref()?;
    if reference.tag().is_some() || reference.digest().is_some() {
        return None;
    }
    let version = &chart.metadata.app_version;
    let by_chart = finding.shape == Shape::Map && !version.is_empty();
    Some(if by_chart { version.clone() } else { "latest".to_owned() })
}

fn part(role: Role, path: &ValuePath, key: &Str, text: &str) -> Part {
    Part { role, path: path.key(key.clone()), text: text.to_owned() }
}

#[cfg(test)]
mod tests;
