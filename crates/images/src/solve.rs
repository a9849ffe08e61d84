//! Chooses value edits that give each image its new name, and resolves conflicts between them.

use std::collections::{BTreeMap, BTreeSet};

use crate::fields::Field;
use crate::provenance::{Fragment, Leaf, Provenance, UnsetValue, name_of};

/// A replacement of part of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edit {
    /// The index in [`Provenance::leaves`].
    pub(crate) leaf: usize,
    /// Start offset of the replaced part.
    pub(crate) start: usize,
    /// End offset of the replaced part.
    pub(crate) end: usize,
    /// The replacement.
    pub(crate) text: String,
}

impl Edit {
    fn conflicts_with(&self, other: &Edit) -> bool {
        self != other
            && self.leaf == other.leaf
            && (self.start == other.start || (self.start < other.end && other.start < self.end))
    }
}

/// Why values cannot move an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The registry of the image is hard-coded in a template.
    Hardcoded,
    /// The chart composes the values in a way that leaves no place for the new registry and path.
    Shape,
    /// The value is also used by another image, which must get another name or stay.
    Shared {
        /// The value.
        value: String,
        /// The other image.
        other: String,
    },
    /// Changing the value would change something else.
    SideEffect {
        /// The value.
        value: String,
        /// What else would change, and how.
        what: String,
    },
}

/// The state of the search: the alternatives of each field, and the current choice.
pub(crate) struct Solver<'s> {
    provenance: &'s Provenance,
    image_fields: &'s [Field],
    fields: Vec<Attempt>,
}

struct Attempt {
    alternatives: Vec<Vec<Edit>>,
    current: usize,
    /// Why the previous alternative was dropped.
    obstacle: Option<Obstacle>,
    moves: bool,
}

impl Attempt {
    fn edits(&self) -> &[Edit] {
        self.alternatives.get(self.current).map_or(&[], Vec::as_slice)
    }

    fn has_alternative(&self) -> bool {
        self.current < self.alternatives.len()
    }
}

impl<'s> Solver<'s> {
    /// Starts with the preferred alternative of each field. `desired` has the new image of each field that moves.
    pub(crate) fn new(
        image_fields: &'s [Field],
        desired: &[Option<String>],
        provenance: &'s Provenance,
    ) -> Self {
        let fields = image_fields.iter().zip(desired).enumerate();
        let fields = fields.map(|(number, (field, desired))| {
            let alternatives = match desired {
                Some(desired) => alternatives(&field.image, desired, provenance, number),
                None => Vec::new(),
            };
            let obstacle = (desired.is_some() && alternatives.is_empty()).then(|| {
                let has_front = provenance.fragments[number].iter().any(|fragment| fragment.start == 0);
                if has_front { Obstacle::Shape } else { Obstacle::Hardcoded }
            });
            Attempt { alternatives, current: 0, obstacle, moves: desired.is_some() }
        });
        Solver { provenance, image_fields, fields: fields.collect() }
    }

    /// Whether the current choice moves a field.
    pub(crate) fn moves(&self, field: usize) -> bool {
        self.fields[field].moves && self.fields[field].has_alternative()
    }

    /// Why a field that should move does not.
    pub(crate) fn obstacle(&self, field: usize) -> Option<&Obstacle> {
        self.fields[field].obstacle.as_ref().filter(|_| !self.moves(field))
    }

    /// Whether the current choice for a field edits this value.
    pub(crate) fn changes(&self, field: usize, leaf: usize) -> bool {
        self.fields[field].edits().iter().any(|edit| edit.leaf == leaf)
    }

    /// All edits currently chosen.
    pub(crate) fn edits(&self) -> BTreeSet<&Edit> {
        self.fields.iter().flat_map(Attempt::edits).collect()
    }

    /// Drops choices until no two conflict and none affects an image that stays.
    pub(crate) fn resolve_conflicts(&mut self) {
        // Ends, as each round uses up an alternative of a field.
        while let Some((losers, obstacle)) = self.conflict() {
            for field in losers {
                self.next_alternative(field, obstacle.clone());
            }
        }
    }

    /// Drops all choices that edit a value. Returns whether there were any.
    pub(crate) fn drop_edits_of(&mut self, leaf: usize, what: &str) -> bool {
        let value = self.provenance.leaves[leaf].path.to_string();
        let obstacle = Obstacle::SideEffect { value, what: what.to_owned() };
        let changes = |attempt: &Attempt| attempt.edits().iter().any(|edit| edit.leaf == leaf);
        let losers: Vec<usize> =
            (0..self.fields.len()).filter(|field| changes(&self.fields[*field])).collect();
        for field in &losers {
            self.next_alternative(*field, obstacle.clone());
        }
        !losers.is_empty()
    }

    fn next_alternative(&mut self, field: usize, obstacle: Obstacle) {
        let attempt = &mut self.fields[field];
        attempt.current += 1;
        attempt.obstacle = Some(obstacle);
    }

    /// The first conflict: the fields that lose, and why.
    fn conflict(&self) -> Option<(Vec<usize>, Obstacle)> {
        let mut owners: BTreeMap<&Edit, Vec<usize>> = BTreeMap::new();
        for (number, attempt) in self.fields.iter().enumerate() {
            for edit in attempt.edits() {
                owners.entry(edit).or_default().push(number);
            }
        }
        for (edit, fields) in &owners {
            if let Some(other) = self.disturbed_by(edit) {
                return Some((fields.clone(), self.shared(edit, other)));
            }
        }
        let edits: Vec<(&&Edit, &Vec<usize>)> = owners.iter().collect();
        for (index, (edit, fields)) in edits.iter().enumerate() {
            let rest = edits[index + 1..].iter().take_while(|(other, _)| other.leaf == edit.leaf);
            for (other, others) in rest {
                if edit.conflicts_with(other) {
                    // The majority wins; on a tie, the first.
                    let (losers, winner) =
                        if others.len() > fields.len() { (fields, others) } else { (others, fields) };
                    return Some(((*losers).clone(), self.shared(edit, winner[0])));
                }
            }
        }
        None
    }

    /// A field that stays and that an edit would change.
    fn disturbed_by(&self, edit: &Edit) -> Option<usize> {
        (0..self.fields.len()).filter(|field| !self.moves(*field)).find(|field| {
            self.provenance.fragments[*field].iter().any(|fragment| {
                let end = fragment.offset + fragment.end - fragment.start;
                fragment.leaf == edit.leaf
                    && edit.start < end
                    && (fragment.offset < edit.end || fragment.offset == edit.start)
            })
        })
    }

    fn shared(&self, edit: &Edit, other: usize) -> Obstacle {
        let value = self.provenance.leaves[edit.leaf].path.to_string();
        Obstacle::Shared { value, other: self.image_fields[other].image.clone() }
    }
}

/// Applies edits; returns the new text of each edited leaf.
pub(crate) fn apply<'e>(
    leaves: &[Leaf],
    edits: impl IntoIterator<Item = &'e Edit>,
) -> BTreeMap<usize, String> {
    let mut texts: BTreeMap<usize, String> = BTreeMap::new();
    let mut edits: Vec<&Edit> = edits.into_iter().collect();
    edits.sort();
    edits.dedup();
    // From the end, so that the offsets of the edits before stay valid.
    for edit in edits.into_iter().rev() {
        let text = texts.entry(edit.leaf).or_insert_with(|| leaves[edit.leaf].text.clone());
        text.replace_range(edit.start..edit.end, &edit.text);
    }
    texts
}

/// How an image changes: a prefix of the old text is replaced, and the rest is kept.
struct Change<'c> {
    old: &'c str,
    new: &'c str,
    /// The end of the old prefix.
    front: usize,
    /// The new prefix, without a trailing slash.
    new_front: &'c str,
    host: &'c str,
    prefix: &'c str,
}

impl<'c> Change<'c> {
    fn between(old: &'c str, new: &'c str) -> Self {
        let name = name_of(old);
        let after_slashes = name.match_indices('/').map(|(at, _)| at + 1);
        let starts_name = |at: usize| at == 0 || new.as_bytes().get(at - 1) == Some(&b'/');
        // The longest common end that begins with a whole path component: `nginx` must not be taken for the end of
        // `my-nginx`.
        let keeps = |at: &usize| new.ends_with(&old[*at..]) && starts_name(new.len() - (old.len() - at));
        let front = std::iter::once(0).chain(after_slashes).find(keeps).unwrap_or(name.len());
        let new_front = new[..new.len().saturating_sub(old.len() - front)].trim_end_matches('/');
        let (host, prefix) = new_front.split_once('/').unwrap_or((new_front, ""));
        Change { old, new, front, new_front, host, prefix }
    }

    /// Whether only whole leading path components are replaced, not the name itself.
    fn keeps_name(&self) -> bool {
        self.front < name_of(self.old).len()
    }

    /// The new prefix as it precedes the part that is kept.
    fn leading(&self) -> String {
        if self.keeps_name() { format!("{}/", self.new_front) } else { self.new_front.to_owned() }
    }

    /// The part between the host and what is kept.
    fn inner(&self) -> String {
        match (self.prefix.is_empty(), self.keeps_name()) {
            (true, _) => String::new(),
            (false, true) => format!("{}/", self.prefix),
            (false, false) => self.prefix.to_owned(),
        }
    }
}

/// The possible edits for a field, preferred first: a chart's own values come before globals, which also affect other
/// charts.
fn alternatives(old: &str, new: &str, provenance: &Provenance, field: usize) -> Vec<Vec<Edit>> {
    let change = Change::between(old, new);
    let fragments = &provenance.fragments[field];
    let is_shared = |unset: &&UnsetValue| {
        provenance.leaves[unset.leaf].path.to_string().split('.').any(|key| key == "global")
    };
    let (shared, own): (Vec<&UnsetValue>, Vec<&UnsetValue>) =
        provenance.unset_values[field].iter().partition(is_shared);
    let mut found = Vec::new();
    found.extend(own.iter().filter_map(|unset| switch_and_path(&change, unset, fragments)));
    found.extend(at_front(&change, fragments));
    found.extend(own.iter().filter_map(|unset| switch_alone(&change, unset)));
    found.extend(shared.iter().filter_map(|unset| switch_and_path(&change, unset, fragments)));
    found.extend(shared.iter().filter_map(|unset| switch_alone(&change, unset)));
    found
}

/// Edits the value at the start of the image, and the next one if the first holds just the registry.
fn at_front(change: &Change<'_>, fragments: &[Fragment]) -> Vec<Vec<Edit>> {
    let Some(first) = fragments.iter().find(|fragment| fragment.start == 0) else { return Vec::new() };
    let edit = |fragment: &Fragment, length: usize, text: String| Edit {
        leaf: fragment.leaf,
        start: fragment.offset,
        end: fragment.offset + length,
        text,
    };
    // One value holds all that changes.
    if first.end >= change.front {
        return vec![vec![edit(first, change.front, change.leading())]];
    }
    if change.old.as_bytes()[first.end] != b'/' {
        return Vec::new();
    }
    let path = first.end + 1;
    let mut found = Vec::new();
    let second = fragments.iter().find(|fragment| fragment.start == path && fragment.end >= change.front);
    if let Some(second) = second {
        let mut edits = vec![edit(first, first.end, change.host.to_owned())];
        let inner = edit(second, change.front - path, change.inner());
        if inner.start != inner.end || !inner.text.is_empty() {
            edits.push(inner);
        }
        found.push(edits);
    }
    if path == change.front {
        found.push(vec![edit(first, first.end, change.new_front.to_owned())]);
    }
    found
}

/// Sets an empty registry value to the host, and adds the prefix to the value of the path.
fn switch_and_path(change: &Change<'_>, unset: &UnsetValue, fragments: &[Fragment]) -> Option<Vec<Edit>> {
    let rest = unset.after.strip_prefix('/').filter(|_| unset.before.is_empty())?;
    let path = change.old.len().checked_sub(rest.len()).filter(|path| &change.old[*path..] == rest)?;
    let length = change.front.checked_sub(path)?;
    let host = Edit { leaf: unset.leaf, start: 0, end: 0, text: change.host.to_owned() };
    let inner = change.inner();
    if length == 0 && inner.is_empty() {
        return Some(vec![host]);
    }
    let fragment =
        fragments.iter().find(|fragment| fragment.start == path && fragment.end >= change.front)?;
    let inner =
        Edit { leaf: fragment.leaf, start: fragment.offset, end: fragment.offset + length, text: inner };
    Some(vec![host, inner])
}

/// Sets an empty value to the whole new prefix.
fn switch_alone(change: &Change<'_>, unset: &UnsetValue) -> Option<Vec<Edit>> {
    let fits = unset.before.is_empty() && change.old.ends_with(&unset.after);
    let text = change.new.strip_suffix(unset.after.as_str()).filter(|_| fits);
    let text = text.or_else(|| {
        let rest = unset.after.strip_prefix('/').filter(|_| unset.before.is_empty())?;
        (rest == &change.old[change.front..]).then_some(change.new_front)
    })?;
    Some(vec![Edit { leaf: unset.leaf, start: 0, end: 0, text: text.to_owned() }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_path::ValuePath;

    const NEW: &str = "hub.corp:5000/quayio/team/api:1";

    fn solved(
        old: &str,
        new: &str,
        texts: &[&str],
        fragments: &[(usize, usize, usize, usize)],
    ) -> Vec<Vec<String>> {
        let leaves: Vec<Leaf> = texts
            .iter()
            .map(|text| Leaf { path: ValuePath::root().key(*text), text: (*text).to_owned() })
            .collect();
        let fragments =
            fragments.iter().map(|&(start, end, leaf, offset)| Fragment { start, end, leaf, offset });
        let provenance = Provenance {
            leaves: leaves.clone(),
            fragments: vec![fragments.collect()],
            unset_values: vec![Vec::new()],
        };
        let found = alternatives(old, new, &provenance, 0);
        found.iter().map(|edits| apply(&leaves, edits).into_values().collect()).collect()
    }

    #[test]
    fn one_value_takes_the_whole_front() {
        let old = "quay.io/team/api:1";
        assert_eq!(solved(old, NEW, &[old], &[(0, 18, 0, 0)]), [[NEW]]);
        let repository = solved(old, NEW, &["quay.io/team/api"], &[(0, 16, 0, 0)]);
        assert_eq!(repository, [["hub.corp:5000/quayio/team/api"]]);
        let short = solved("web:1", "hub/dockerio/library/web:1", &["web"], &[(0, 3, 0, 0)]);
        assert_eq!(short, [["hub/dockerio/library/web"]]);
        let text = solved(old, NEW, &["x: quay.io/team/api:1 y"], &[(0, 18, 0, 3)]);
        assert_eq!(text, [["x: hub.corp:5000/quayio/team/api:1 y"]]);
    }

    #[test]
    fn a_registry_takes_the_host_and_the_repository_the_rest() {
        let old = "quay.io/team/api:1";
        let both = solved(old, NEW, &["quay.io", "team/api"], &[(0, 7, 0, 0), (8, 16, 1, 0)]);
        assert_eq!(both, [vec!["hub.corp:5000", "quayio/team/api"], vec!["hub.corp:5000/quayio"]]);
        let alone = solved(old, NEW, &["quay.io"], &[(0, 7, 0, 0)]);
        assert_eq!(alone, [["hub.corp:5000/quayio"]]);
        let no_prefix =
            solved(old, "hub/team/api:1", &["quay.io", "team/api"], &[(0, 7, 0, 0), (8, 16, 1, 0)]);
        assert_eq!(no_prefix[0], ["hub"]);
        let changed =
            solved("quay.io/A_b:1", "ecr/q/a-b:1", &["quay.io", "A_b"], &[(0, 7, 0, 0), (8, 11, 1, 0)]);
        assert_eq!(changed, [["ecr", "q/a-b"]]);
    }

    #[test]
    fn what_no_value_reaches_has_no_way() {
        assert!(solved("quay.io/team/api:1", NEW, &["team/api"], &[(8, 16, 0, 0)]).is_empty());
        assert!(solved("quay.io/team/api:1", NEW, &["quay"], &[(0, 4, 0, 0)]).is_empty());
    }
}
