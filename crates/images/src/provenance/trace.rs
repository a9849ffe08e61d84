//! Inserts markers into values, renders, and reads the markers back out of the images.

use std::collections::BTreeMap;

use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};

use super::leaf::{Leaf, Match, name_of};
use super::marker::{MAX_MARKS, Marker};
use super::{empty_leaves, text_leaves};
use crate::fields::{Field, FieldLocation, fields};
use crate::rendering::{Files, Rendering};
use crate::value_path::{ValuePath, overlay};

/// The maximum number of renders spent on tracing one chart.
const MAX_RENDERS: usize = 40;

/// A part of an image that came from a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fragment {
    /// Its start offset in the image.
    pub start: usize,
    /// Its end offset in the image.
    pub end: usize,
    /// The index in [`Provenance::leaves`].
    pub leaf: usize,
    /// Its start offset in the value.
    pub offset: usize,
}

/// An empty value that would become part of an image if it were set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsetValue {
    /// The index in [`Provenance::leaves`].
    pub leaf: usize,
    /// The image text that would precede it.
    pub before: String,
    /// The image text that would follow it.
    pub after: String,
}

/// Which values the images came from.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// The values that were considered.
    pub leaves: Vec<Leaf>,
    /// For each field, the fragments that came from values, in order of their start.
    pub fragments: Vec<Vec<Fragment>>,
    /// For each field, the empty values that would become part of it.
    pub unset_values: Vec<Vec<UnsetValue>>,
}

impl Provenance {
    /// The paths of the values that an image came from, in the order of its text.
    pub fn values(&self, field: usize) -> Vec<ValuePath> {
        let mut values: Vec<ValuePath> = Vec::new();
        for fragment in self.fragments.get(field).into_iter().flatten() {
            let path = &self.leaves[fragment.leaf].path;
            if !values.contains(path) {
                values.push(path.clone());
            }
        }
        values
    }
}

/// An offset in a value at which a marker is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Anchor {
    leaf: usize,
    offset: usize,
}

/// Finds the values that the images of some fields came from. `values` are the coalesced values, including `base`,
/// which is merged over the user's.
///
/// All markers are inserted at once. If the render fails, the set is bisected; if a marker changes which branch a
/// template takes, the markers are tried one at a time.
pub(crate) fn trace(
    rendering: &mut Rendering<'_>,
    base: &Map<Node>,
    values: &Map<Node>,
    files: &Files,
    image_fields: &[Field],
) -> Provenance {
    let mut tracer = Tracer {
        marker: Marker::not_in(files),
        values,
        base,
        image_fields,
        budget: MAX_RENDERS,
        found: Provenance {
            leaves: text_leaves(values),
            fragments: vec![Vec::new(); image_fields.len()],
            unset_values: vec![Vec::new(); image_fields.len()],
        },
        rendering,
    };
    tracer.run();
    tracer.finish()
}

struct Tracer<'t, 'r> {
    rendering: &'t mut Rendering<'r>,
    marker: Marker,
    values: &'t Map<Node>,
    base: &'t Map<Node>,
    image_fields: &'t [Field],
    budget: usize,
    found: Provenance,
}

/// The text of each image field in a render with markers; `None` if the field is missing.
type Observed = Vec<Option<String>>;

impl Tracer<'_, '_> {
    fn run(&mut self) {
        let (strong, weak) = self.anchors(&vec![true; self.image_fields.len()]);
        let disturbed = self.observe(&strong);
        self.probe(&strong, &disturbed);
        let open = self.open_fronts();
        if open.contains(&true) && !weak.is_empty() {
            let (_, weak) = self.anchors(&open);
            let disturbed = self.observe(&weak);
            self.probe(&weak, &disturbed);
        }
        self.observe_switches();
    }

    /// Insertion points that match the images of the given fields, split into strong and weak matches.
    fn anchors(&self, desired: &[bool]) -> (Vec<Anchor>, Vec<Anchor>) {
        let mut images: Vec<&str> = Vec::new();
        for (field, desired) in self.image_fields.iter().zip(desired) {
            if *desired && !images.contains(&field.image.as_str()) {
                images.push(&field.image);
            }
        }
        let mut best: BTreeMap<Anchor, Match> = BTreeMap::new();
        for (leaf, text) in self.found.leaves.iter().enumerate() {
            for image in &images {
                if let Some((fit, offsets)) = text.match_offsets(image, name_of(image)) {
                    for offset in offsets {
                        let known = best.entry(Anchor { leaf, offset }).or_insert(fit);
                        *known = fit.min(*known);
                    }
                }
            }
        }
        let of =
            |desired: Match| best.iter().filter(move |(_, fit)| **fit == desired).map(|(anchor, _)| *anchor);
        (of(Match::Strong).take(MAX_MARKS).collect(), of(Match::Weak).take(MAX_MARKS).collect())
    }

    /// Whether each field still lacks a value at its start, or has one that covers only part of the registry name.
    fn open_fronts(&self) -> Vec<bool> {
        let fields = self.found.fragments.iter().zip(self.image_fields);
        let fields = fields.map(|(fragments, field)| {
            let front = fragments
                .iter()
                .filter(|fragment| fragment.start == 0)
                .map(|fragment| fragment.end)
                .max()
                .unwrap_or(0);
            let (taken, rest) = field.image.split_at(front);
            taken.is_empty() || !(taken.contains('/') || rest.is_empty() || rest.starts_with(['/', ':', '@']))
        });
        fields.collect()
    }

    /// Renders with markers at these points, bisecting if that fails. Returns which fields were disturbed.
    fn observe(&mut self, anchors: &[Anchor]) -> Vec<bool> {
        let mut disturbed = vec![false; self.image_fields.len()];
        let mut waiting = vec![anchors];
        while let Some(part) = waiting.pop() {
            if part.is_empty() || self.budget == 0 {
                continue;
            }
            match self.render(part) {
                Some(seen) => self.collect(part, &seen, &mut disturbed),
                None if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    waiting.extend([second, first]);
                }
                None => {}
            }
        }
        disturbed
    }

    /// Retries fields that changed their branch because of markers, with one marker at a time.
    fn probe(&mut self, anchors: &[Anchor], disturbed: &[bool]) {
        if !disturbed.contains(&true) {
            return;
        }
        let (strong, weak) = self.anchors(disturbed);
        let matters = |anchor: &&Anchor| strong.contains(anchor) || weak.contains(anchor);
        let relevant: Vec<Anchor> = anchors.iter().filter(matters).copied().collect();
        for anchor in relevant {
            if self.budget == 0 {
                return;
            }
            if let Some(seen) = self.render(&[anchor]) {
                self.collect(&[anchor], &seen, &mut vec![false; self.image_fields.len()]);
            }
        }
    }

    fn render(&mut self, anchors: &[Anchor]) -> Option<Observed> {
        self.budget -= 1;
        let mut marked: BTreeMap<usize, (String, usize)> = BTreeMap::new();
        for (number, anchor) in anchors.iter().enumerate() {
            let leaf = &self.found.leaves[anchor.leaf];
            let (text, end) = marked.entry(anchor.leaf).or_default();
            text.push_str(&leaf.text[*end..anchor.offset]);
            text.push_str(&self.marker.mark(number));
            *end = anchor.offset;
        }
        for (leaf, (text, end)) in &mut marked {
            text.push_str(&self.found.leaves[*leaf].text[*end..]);
        }
        let leaves = &self.found.leaves;
        let texts = marked.iter().map(|(leaf, (text, _))| (&leaves[*leaf].path, text.as_str()));
        let marks = overlay(self.values, texts);
        let files = self.rendering.render(&merge(self.base.clone(), marks)).ok()?;
        Some(seen(self.image_fields, &files))
    }

    /// Records where markers came out.
    fn collect(&mut self, anchors: &[Anchor], seen: &Observed, disturbed: &mut [bool]) {
        for (number, field) in self.image_fields.iter().enumerate() {
            let Some(text) = &seen[number] else {
                disturbed[number] = true;
                continue;
            };
            let (plain, marks) = self.marker.strip(text);
            if plain != field.image {
                disturbed[number] = true;
                continue;
            }
            for (start, mark) in marks {
                let Some(anchor) = anchors.get(mark) else { continue };
                let source = &self.found.leaves[anchor.leaf].text[anchor.offset..];
                let end = start + common_prefix(source, &plain[start..]);
                if end > start {
                    let Anchor { leaf, offset } = *anchor;
                    self.found.fragments[number].push(Fragment { start, end, leaf, offset });
                }
            }
        }
    }

    /// Finds empty values that would become part of an image: those next to values that do, and any if the start of
    /// an image has no known source.
    fn observe_switches(&mut self) {
        let open = self.open_fronts();
        let mut parents: Vec<ValuePath> = Vec::new();
        for fragment in self.found.fragments.iter().flatten() {
            parents.extend(self.found.leaves[fragment.leaf].path.parent());
        }
        parents.sort();
        parents.dedup();
        let is_beside = |leaf: &Leaf| {
            let parent = leaf.path.parent();
            is_registry(leaf) && parent.is_some_and(|parent| parents.binary_search(&parent).is_ok())
        };
        let empty = empty_leaves(self.rendering.chart(), self.values);
        let (beside, others): (Vec<Leaf>, Vec<Leaf>) = empty.into_iter().partition(is_beside);
        self.observe_empty(beside);
        let covered = |number: usize| !self.found.unset_values[number].is_empty();
        if (0..open.len()).any(|number| open[number] && !covered(number)) {
            self.observe_empty(others);
        }
    }

    /// Renders with markers in place of empty values.
    fn observe_empty(&mut self, leaves: Vec<Leaf>) {
        let first = self.found.leaves.len();
        self.found.leaves.extend(leaves.into_iter().take(MAX_MARKS));
        let anchors: Vec<Anchor> =
            (first..self.found.leaves.len()).map(|leaf| Anchor { leaf, offset: 0 }).collect();
        // Globals affect all charts, so they are not tried together with other values.
        let is_shared = |anchor: &Anchor| {
            self.found.leaves[anchor.leaf].path.to_string().split('.').any(|key| key == "global")
        };
        let (shared, own): (Vec<Anchor>, Vec<Anchor>) = anchors.into_iter().partition(is_shared);
        let mut waiting: Vec<Vec<Anchor>> = shared.into_iter().map(|anchor| vec![anchor]).collect();
        waiting.push(own);
        while let Some(part) = waiting.pop() {
            if part.is_empty() || self.budget == 0 {
                continue;
            }
            match self.render(&part) {
                Some(seen) => self.collect_switches(&part, &seen),
                None if part.len() > 1 => {
                    let (one, other) = part.split_at(part.len() / 2);
                    waiting.extend([one.to_vec(), other.to_vec()]);
                }
                None => {}
            }
        }
    }

    fn collect_switches(&mut self, anchors: &[Anchor], seen: &Observed) {
        for (number, text) in seen.iter().enumerate() {
            let Some(text) = text else { continue };
            let (plain, marks) = self.marker.strip(text);
            let [(at, mark)] = marks[..] else { continue };
            let Some(anchor) = anchors.get(mark) else { continue };
            let (before, after) = (plain[..at].to_owned(), plain[at..].to_owned());
            self.found.unset_values[number].push(UnsetValue { leaf: anchor.leaf, before, after });
        }
    }

    /// Sorts the fragments and ends each where the next one starts.
    fn finish(mut self) -> Provenance {
        for fragments in &mut self.found.fragments {
            fragments.sort();
            fragments.dedup();
            for index in 1..fragments.len() {
                let next = fragments[index].start;
                fragments[index - 1].end = fragments[index - 1].end.min(next);
            }
            fragments.retain(|fragment| fragment.end > fragment.start);
        }
        self.found
    }
}

fn is_registry(leaf: &Leaf) -> bool {
    leaf.path.last_key().is_some_and(|key| {
        let key = key.to_str_lossy().to_ascii_lowercase();
        key.contains("registry") || key == "hub"
    })
}

/// The text of each image field in other files.
fn seen(image_fields: &[Field], files: &Files) -> Observed {
    let found: BTreeMap<FieldLocation, String> =
        fields(files).into_iter().map(|field| (field.location, field.image)).collect();
    image_fields.iter().map(|field| found.get(&field.location).cloned()).collect()
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}
