//! What splitting does to each document: the hooks it contains, the objects they become, and the changes for each.
//!
//! All of this works on [`View`]s, so that it is the same for trees and for text.

use std::collections::BTreeMap;

use pintle_yaml::outline::PathSegment;

use crate::annotation::{Annotations, EventVocabulary, HOOK, WEIGHT, WEIGHTS};
use crate::change::{Change, Path, drop_nested, join};
use crate::env::add_variables;
use crate::error::Problem;
use crate::name::{split_generate_name, split_name};
use crate::reference::Renames;
use crate::view::View;
use crate::weight::event_weights;

/// What is known of a document before anything is changed.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Its hooks: the document itself, or members of a list.
    pub(crate) hooks: Vec<Hook>,
    /// The identities of its other objects.
    others: Vec<Identity>,
}

/// A hook to split.
#[derive(Debug)]
pub(crate) struct Hook {
    /// Its path; empty for the document itself.
    pub(crate) path: Path,
    /// Whether it has one event and `helm.sh/hook` is exactly that.
    plain: bool,
    /// Whether it has `helm.sh/hook-weights`, which Helm does not know.
    weighed: bool,
    /// Whether containers get environment variables.
    env: bool,
    /// The objects it creates: itself, or the members of a list.
    subjects: Vec<Subject>,
    /// The events with their weights.
    pub(crate) parts: Vec<Part>,
}

/// An object that a hook creates at each of its events.
#[derive(Debug)]
struct Subject {
    path: Path,
    identity: Identity,
    naming: Naming,
}

/// How an object is named after splitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    Keep,
    Suffix,
    /// A suffix for `generateName`.
    Generate,
}

/// One object that a hook is split into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) event: &'static str,
    pub(crate) weight: i64,
}

/// The identity of an object, in one string because there can be many. The API version does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity(Box<str>);

/// Annotations that contradict each other.
#[derive(Debug)]
pub(crate) struct AnnotationError {
    pub(crate) identity: Identity,
    /// The path of the annotation.
    pub(crate) path: Path,
    pub(crate) problem: Problem,
}

/// A part whose name conflicts with another object.
#[derive(Debug)]
pub(crate) struct NameConflict {
    /// The index of the document.
    pub(crate) document: usize,
    pub(crate) identity: Identity,
    pub(crate) new: String,
}

/// Kinds with a meaningful name: the server derives it from the spec, or other objects refer to it. Their parts keep
/// it.
const FIXED_NAMES: [&str; 3] = ["APIService", "CustomResourceDefinition", "Namespace"];

/// The maximum nesting of lists.
const MAX_LIST_DEPTH: usize = 20;

impl Plan {
    /// Plans a document.
    pub(crate) fn from_view<'v>(root: impl View<'v>) -> Result<Self, Box<AnnotationError>> {
        let mut plan = Plan::default();
        plan.visit(root, &mut Vec::new(), MAX_LIST_DEPTH)?;
        Ok(plan)
    }

    /// Whether nothing changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Whether hooks have to be moved out of their list, because a list is installed as a whole.
    pub(crate) fn leaves_list(&self) -> bool {
        self.hooks.iter().any(|hook| !hook.path.is_empty())
    }

    /// Whether all members of the list are hooks, so that it becomes empty.
    pub(crate) fn empties_list(&self) -> bool {
        self.leaves_list() && self.others.is_empty()
    }

    fn visit<'v, V: View<'v>>(
        &mut self,
        view: V,
        path: &mut Path,
        depth: usize,
    ) -> Result<(), Box<AnnotationError>> {
        if !view.is_map() {
            return Ok(());
        }
        let annotations = Annotations::from_view(view);
        // A list with hook annotations is a hook as a whole.
        if annotations.hook.is_some() || annotations.weights.is_some() {
            let hook = Hook::from_view(view, path, annotations)?;
            self.hooks.push(hook);
            return Ok(());
        }
        let Some(members) = members(view).filter(|_| depth > 0) else {
            self.others.push(Identity::from_view(view));
            return Ok(());
        };
        for (index, member) in members.into_iter().enumerate() {
            path.extend([PathSegment::from("items"), PathSegment::from(index)]);
            self.visit(member, path, depth - 1)?;
            path.truncate(path.len() - 2);
        }
        Ok(())
    }
}

/// The members of a list.
fn members<'v, V: View<'v>>(view: V) -> Option<Vec<V>> {
    if view.text(&["kind"]).ends_with("List") { view.get("items")?.items() } else { None }
}

/// Separates the parts of an identity; it cannot occur in a name.
const SEPARATOR: char = '\0';

impl Identity {
    fn from_view<'v>(view: impl View<'v>) -> Self {
        let version = view.text(&["apiVersion"]);
        let group = version.split_once('/').map(|(group, _)| group).unwrap_or_default();
        let metadata = view.get("metadata");
        let text = |key| metadata.map(|metadata| metadata.text(&[key])).unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        Identity::new(group, &view.text(&["kind"]), &namespace, &name)
    }

    fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        let parts = [group, kind, namespace, name].map(|part| part.replace(SEPARATOR, ""));
        Identity(parts.join("\0").into())
    }

    fn part(&self, number: usize) -> &str {
        self.0.split(SEPARATOR).nth(number).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> &str {
        self.part(1)
    }

    fn namespace(&self) -> &str {
        self.part(2)
    }

    pub(crate) fn name(&self) -> &str {
        self.part(3)
    }

    fn renamed(&self, name: &str) -> Self {
        Identity::new(self.part(0), self.kind(), self.namespace(), name)
    }
}

impl Hook {
    fn from_view<'v>(
        view: impl View<'v>,
        path: &[PathSegment],
        annotations: Annotations,
    ) -> Result<Self, Box<AnnotationError>> {
        let events = event_weights(&annotations, EventVocabulary::Filter).map_err(|problem| {
            let annotation = problem.annotation(&annotations);
            let path = join(path, ["metadata", "annotations", annotation]);
            Box::new(AnnotationError { identity: Identity::from_view(view), path, problem })
        })?;
        let parts: Vec<Part> = events.into_iter().map(|(event, weight)| Part { event, weight }).collect();
        // A hook with one event stays one object and keeps its name.
        let renamed = parts.len() > 1 && annotations.allows_suffix();
        let mut subjects = Vec::new();
        add_subjects(view, &mut path.to_vec(), renamed, MAX_LIST_DEPTH, &mut subjects);
        let only = parts.first().filter(|_| parts.len() == 1).map(|part| part.event);
        let plain = only.is_some() && annotations.hook.as_deref().map(str::trim) == only;
        let (weighed, env) = (annotations.weights.is_some(), annotations.allows_env());
        Ok(Hook { path: path.to_vec(), plain, weighed, env, subjects, parts })
    }

    /// The changes of the document for one part.
    pub(crate) fn changes<'v>(&self, root: impl View<'v>, part: &Part, renames: &Renames) -> Vec<Change> {
        let mut changes = Vec::new();
        self.annotate(part, root, &mut changes);
        for subject in &self.subjects {
            let Some(object) = at(root, &subject.path) else { continue };
            match subject.naming {
                Naming::Keep => {}
                Naming::Suffix => {
                    let new = split_name(subject.identity.name(), part.event);
                    changes.push(Change::Set(join(&subject.path, ["metadata", "name"]), new.into()));
                }
                Naming::Generate => {
                    let new = split_generate_name(&object.text(&["metadata", "generateName"]), part.event);
                    changes.push(Change::Set(join(&subject.path, ["metadata", "generateName"]), new.into()));
                }
            }
            if self.env {
                add_variables(object, &subject.path, part.event, part.weight, &mut changes);
            }
            renames.rewrite(object, &subject.path, part.event, &mut changes);
        }
        drop_nested(&mut changes);
        changes
    }

    fn annotate<'v>(&self, part: &Part, root: impl View<'v>, changes: &mut Vec<Change>) {
        let annotations = at(root, &join(&self.path, ["metadata", "annotations"]));
        let mut set = |key: &'static str, value: String| {
            // A value that is right already keeps its formatting.
            let old = annotations.and_then(|annotations| annotations.get(key)).and_then(View::str);
            if old.is_none_or(|old| old != value) {
                let path = join(&self.path, ["metadata", "annotations", key]);
                changes.push(Change::Set(path, value.into()));
            }
        };
        // A hook with one event that Helm understands keeps its annotations as they are.
        if !self.plain {
            set(HOOK, part.event.to_owned());
        }
        if self.parts.len() > 1 || self.weighed {
            set(WEIGHT, part.weight.to_string());
        }
        if self.weighed {
            changes.push(Change::Remove(join(&self.path, ["metadata", "annotations", WEIGHTS])));
        }
    }
}

/// Adds the object, or the members of a list.
fn add_subjects<'v, V: View<'v>>(
    view: V,
    path: &mut Path,
    renamed: bool,
    depth: usize,
    subjects: &mut Vec<Subject>,
) {
    if let Some(members) = members(view).filter(|_| depth > 0) {
        for (index, member) in members.into_iter().enumerate() {
            path.extend([PathSegment::from("items"), PathSegment::from(index)]);
            add_subjects(member, path, renamed, depth - 1, subjects);
            path.truncate(path.len() - 2);
        }
        return;
    }
    let identity = Identity::from_view(view);
    let generated = || !view.text(&["metadata", "generateName"]).is_empty();
    let naming = match identity.name() {
        _ if !renamed || FIXED_NAMES.contains(&identity.kind()) => Naming::Keep,
        "" if generated() => Naming::Generate,
        "" => Naming::Keep,
        _ => Naming::Suffix,
    };
    subjects.push(Subject { path: path.clone(), identity, naming });
}

/// The node at a path.
fn at<'v, V: View<'v>>(root: V, path: &[PathSegment]) -> Option<V> {
    path.iter().try_fold(root, |view, step| match step {
        PathSegment::Key(key) => view.get(key),
        PathSegment::Index(index) => view.items()?.get(*index).copied(),
    })
}

/// Collects what all plans rename, and rejects new names that another object has. Duplicate names in the input are
/// the chart's problem.
pub(crate) fn renames(plans: &[Plan]) -> Result<Renames, Box<NameConflict>> {
    let mut renames = Renames::default();
    let renamed = |hook: &Hook| hook.subjects.iter().any(|subject| subject.naming == Naming::Suffix);
    // Without renames no map of all objects is needed.
    if !plans.iter().flat_map(|plan| &plan.hooks).any(renamed) {
        return Ok(renames);
    }
    let mut owners: BTreeMap<Identity, &str> = BTreeMap::new();
    for plan in plans {
        let subjects = plan.hooks.iter().flat_map(|hook| &hook.subjects);
        let kept =
            subjects.filter(|subject| subject.naming != Naming::Suffix).map(|subject| &subject.identity);
        for identity in plan.others.iter().chain(kept) {
            owners.insert(identity.clone(), identity.name());
        }
    }
    for (document, plan) in plans.iter().enumerate() {
        for hook in &plan.hooks {
            for subject in hook.subjects.iter().filter(|subject| subject.naming == Naming::Suffix) {
                let (identity, name) = (&subject.identity, subject.identity.name());
                for part in &hook.parts {
                    let new = split_name(name, part.event);
                    // A part with the same original name is a duplicate in the input, which is not reported.
                    if *owners.entry(identity.renamed(&new)).or_insert(name) != name {
                        return Err(Box::new(NameConflict { document, identity: identity.clone(), new }));
                    }
                    renames.add(part.event, identity.kind(), identity.namespace(), name);
                }
            }
        }
    }
    Ok(renames)
}
