//! Finds value overrides that move the images of rendered objects, and proves that they change nothing else.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};

use crate::attribution::Attribution;
use crate::fields::{Field, FieldLocation, fields};
use crate::overrides::{self, Assignments};
use crate::proof::{Comparison, Consequence, ConsequenceKind, ExpectedChange, Violation, compare};
use crate::provenance::{Fragment, Provenance, name_of, trace};
use crate::rendering::{Files, Rendering};
use crate::shape::{Detection, Finding, Issue, Role};
use crate::solve::{Obstacle, Solver, apply};
use crate::suspect::{Suspect, suspects};
use crate::template_line::{self, TemplateLine};
use crate::value_path::overlay;
use crate::{Error, PathFilter, Policy, Reference, Result, ValuePath};

/// The maximum number of trial renders; images still unresolved after that need a rewrite.
const MAX_ATTEMPTS: usize = 12;

/// Options of [`relocate`] besides the policy.
#[derive(Clone, Debug, Default)]
pub struct RelocateOptions<'w> {
    /// Which values may be changed.
    pub filter: PathFilter,
    /// Images detected in values, for those that the current values do not render.
    pub detection: Option<&'w Detection>,
    /// Values to set in addition, such as a chart's permission to use images of other registries.
    pub extra_values: Map<Node>,
}

/// An image field and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The field before the change.
    pub field: Field,
    /// The relocated image, if the policy moves it.
    pub after: Option<String>,
    /// The values it came from, in the order of the image's text.
    pub values: Vec<ValuePath>,
    /// How it is moved, or why it is not.
    pub outcome: Outcome,
    /// Where it is hard-coded in the templates, if values do not move it.
    pub written: Option<TemplateLine>,
}

/// The outcome for one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Values move it; this is proved by rendering.
    ByValues,
    /// No value can move it, but rewriting the rendered text can.
    NeedsRewrite(Obstacle),
    /// The policy or a filter excludes it.
    Excluded,
    /// The policy does not select it.
    Unchanged,
    /// It is not an image reference.
    Unparsable(String),
}

/// An override for an image that the current values do not render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrenderedImage {
    /// Where the image was detected.
    pub path: ValuePath,
    /// The image before the change.
    pub before: String,
    /// The relocated image.
    pub after: String,
    /// Whether the current values render it outside an image field: in an operator's resource, an argument or
    /// configuration data.
    pub carried: bool,
}

/// The overrides that move the images of a chart, with everything that was found out about them.
#[derive(Clone, Debug, Default)]
pub struct Relocation {
    /// The minimal overrides.
    pub overrides: Map<Node>,
    /// The images of rendered objects, in order of their locations.
    pub images: Vec<Image>,
    /// Strings that look like images but are not image fields.
    pub suspects: Vec<Suspect>,
    /// Other acceptable differences that result from the overrides.
    pub consequences: Vec<Consequence>,
    /// Overrides for images that the current values do not render.
    pub unrendered: Vec<UnrenderedImage>,
    /// Detected images that could not be moved; they may show up with other values.
    pub skipped: Vec<ValuePath>,
    /// How often the chart was rendered.
    pub renders: usize,
}

/// Finds overrides that move the images of a chart, and proves that they do that and nothing else.
///
/// # Errors
/// When the chart does not render, or the policy has no target for an image.
pub fn relocate(
    rendering: &mut Rendering<'_>,
    policy: &Policy,
    options: &RelocateOptions<'_>,
) -> Result<Relocation> {
    let baseline = Baseline::new(rendering, options)?;
    let mut search = Search::new(baseline, policy)?;
    search.solve();
    search.relocate_unrendered()?;
    Ok(search.finish())
}

/// Finds the images of a chart and the values that they come from, without moving any.
///
/// # Errors
/// When the chart does not render.
pub fn inspect(rendering: &mut Rendering<'_>, options: &RelocateOptions<'_>) -> Result<Relocation> {
    relocate(rendering, &Policy::default(), options)
}

/// The render before the change, against which trial renders are compared.
struct Baseline<'s, 'r> {
    rendering: &'s mut Rendering<'r>,
    options: &'s RelocateOptions<'s>,
    values: Map<Node>,
    before: Files,
    /// Whether the values matched their schemas before the change. If not, schema errors prove nothing.
    valid: bool,
}

impl<'s, 'r> Baseline<'s, 'r> {
    fn new(rendering: &'s mut Rendering<'r>, options: &'s RelocateOptions<'s>) -> Result<Self> {
        let values =
            rendering.values(&options.extra_values).map_err(|error| Error::Render(error.to_string()))?;
        let before = rendering.render_values(&values).map_err(Error::Render)?;
        // Checked separately, because rendering does not validate schemas.
        let valid = rendering.check(&options.extra_values).is_ok();
        Ok(Baseline { rendering, options, values, before, valid })
    }

    /// Renders with overrides and compares with the baseline.
    fn attempt(&mut self, assignments: &Assignments, expected: &ExpectedChange<'_>) -> Comparison {
        let overrides = self.overrides(assignments);
        let mut comparison = match self.rendering.render(&overrides) {
            Ok(after) => compare(&self.before, &after, expected),
            Err(error) => Comparison { violations: vec![Violation::Broken(error)], ..Comparison::default() },
        };
        if comparison.violations.is_empty()
            && self.valid
            && let Err(error) = self.rendering.check(&overrides)
        {
            comparison.violations.push(Violation::Broken(error.to_string()));
        }
        comparison
    }

    /// Whether overrides change the structure of the output or stop the chart from rendering.
    fn breaks(&mut self, assignments: &Assignments) -> bool {
        let expected = ExpectedChange { images: BTreeMap::new(), image_fields: &[], pairs: Vec::new() };
        let violations = self.attempt(assignments, &expected).violations;
        let overrides = self.overrides(assignments);
        violations.iter().any(Violation::is_structural)
            || (self.valid && self.rendering.check(&overrides).is_err())
    }

    /// Bisects overrides that break the chart together. Returns those that break it alone, or all if only the
    /// combination does.
    fn bisect(&mut self, assignments: &Assignments, budget: &mut usize) -> Vec<ValuePath> {
        let all = || assignments.keys().cloned().collect();
        if assignments.len() < 2 || *budget == 0 {
            return all();
        }
        let mut found = Vec::new();
        let half = assignments.len() / 2;
        let entries = |skip: usize, take: usize| -> Assignments {
            let entries = assignments.iter().skip(skip).take(take);
            entries.map(|(path, text)| (path.clone(), text.clone())).collect()
        };
        for part in [entries(0, half), entries(half, assignments.len())] {
            *budget = budget.saturating_sub(1);
            if self.breaks(&part) {
                found.extend(self.bisect(&part, budget));
            }
        }
        if found.is_empty() { all() } else { found }
    }

    fn overrides(&self, assignments: &Assignments) -> Map<Node> {
        let texts = assignments.iter().map(|(path, text)| (path, text.as_str()));
        merge(self.options.extra_values.clone(), overlay(&self.values, texts))
    }
}

struct Search<'s, 'r> {
    baseline: Baseline<'s, 'r>,
    policy: &'s Policy,
    image_fields: Vec<Field>,
    provenance: Provenance,
    /// The new image of each field that is to move.
    desired: Vec<Option<String>>,
    outcomes: Vec<Outcome>,
    /// The overrides that are proved so far.
    assignments: Assignments,
    /// The text replacements that result from them.
    pairs: Vec<(String, String)>,
    found: Relocation,
}

impl<'s, 'r> Search<'s, 'r> {
    fn new(baseline: Baseline<'s, 'r>, policy: &'s Policy) -> Result<Self> {
        let image_fields = fields(&baseline.before);
        let provenance = trace(
            baseline.rendering,
            &baseline.options.extra_values,
            &baseline.values,
            &baseline.before,
            &image_fields,
        );
        let mut search = Search {
            baseline,
            policy,
            provenance,
            desired: vec![None; image_fields.len()],
            outcomes: vec![Outcome::Unchanged; image_fields.len()],
            image_fields,
            assignments: Assignments::new(),
            pairs: Vec::new(),
            found: Relocation::default(),
        };
        for number in 0..search.image_fields.len() {
            (search.outcomes[number], search.desired[number]) = search.classify(number)?;
        }
        Ok(search)
    }

    /// The outcome by the policy, before it is tried.
    fn classify(&self, number: usize) -> Result<(Outcome, Option<String>)> {
        let image = match Reference::parse_loosely(&self.image_fields[number].image) {
            Ok(image) => image,
            Err(error) => return Ok((Outcome::Unparsable(error.kind.to_string()), None)),
        };
        if self.policy.excludes_registry(&image.registry()) {
            return Ok((Outcome::Excluded, None));
        }
        let destination = match self.policy.destination(&image) {
            Ok(Some(destination)) => destination,
            Ok(None) => return Ok((Outcome::Unchanged, None)),
            // An image whose new name would be invalid must not keep the others from moving.
            Err(Error::InvalidDestination { problem, .. }) => {
                return Ok((Outcome::Unparsable(problem), None));
            }
            Err(error) => return Err(error),
        };
        let allowed = |fragment: &Fragment| {
            self.baseline.options.filter.allows(&self.provenance.leaves[fragment.leaf].path)
        };
        if !self.provenance.fragments[number].iter().all(allowed) {
            return Ok((Outcome::Excluded, None));
        }
        Ok((Outcome::ByValues, Some(destination.relocated(&image))))
    }

    /// Tries overrides until they do what they should and nothing else.
    fn solve(&mut self) {
        let mut solver = Solver::new(&self.image_fields, &self.desired, &self.provenance);
        let leaves = &self.provenance.leaves;
        let mut budget = MAX_ATTEMPTS;
        for attempt in 1.. {
            solver.resolve_conflicts();
            let texts = apply(leaves, solver.edits());
            if texts.is_empty() {
                break;
            }
            let assignments =
                texts.iter().map(|(leaf, text)| (leaves[*leaf].path.clone(), text.clone())).collect();
            let images = moving(&self.image_fields, &self.desired, |number| solver.moves(number));
            let mut pairs =
                texts.iter().map(|(leaf, text)| (leaves[*leaf].text.clone(), text.clone())).collect();
            add_image_pairs(&self.image_fields, &images, &mut pairs);
            let expected = ExpectedChange { images, image_fields: &self.image_fields, pairs };
            let comparison = self.baseline.attempt(&assignments, &expected);
            let Some(worst) = comparison.violations.first() else {
                (self.assignments, self.pairs) = (assignments, expected.pairs);
                self.found.consequences = comparison.consequences;
                break;
            };
            let attribution = Attribution {
                texts: &texts,
                provenance: &self.provenance,
                image_fields: &self.image_fields,
                solver: &solver,
            };
            let mut responsible = attribution.leaves(&comparison.violations);
            // All that is left is given up, so that the next attempt has no edits and the search ends.
            if attempt >= MAX_ATTEMPTS {
                responsible = texts.keys().copied().collect();
            } else if responsible.is_empty() {
                let paths = self.baseline.bisect(&assignments, &mut budget);
                responsible =
                    texts.keys().copied().filter(|leaf| paths.contains(&leaves[*leaf].path)).collect();
            }
            for leaf in responsible {
                solver.drop_edits_of(leaf, &worst.to_string());
            }
        }
        for (number, outcome) in self.outcomes.iter_mut().enumerate() {
            if let Some(obstacle) = solver.obstacle(number) {
                *outcome = Outcome::NeedsRewrite(obstacle.clone());
            }
        }
    }

    /// Adds overrides for images that the current values do not render, as long as nothing else changes. If a batch
    /// fails, it is bisected.
    fn relocate_unrendered(&mut self) -> Result<()> {
        let Some(detection) = self.baseline.options.detection else { return Ok(()) };
        let fragments = self.provenance.fragments.iter().flatten();
        let traced: BTreeSet<&ValuePath> =
            fragments.map(|fragment| &self.provenance.leaves[fragment.leaf].path).collect();
        let mut candidates = Vec::new();
        for finding in &detection.images {
            let mut naming = finding.parts.iter().filter(|part| part.role < Role::Tag);
            if !naming.any(|part| traced.contains(&part.path)) {
                candidates.extend(self.candidate(finding)?);
            }
        }
        // All at once first: mostly none of them changes anything that is rendered.
        let mut waiting = vec![candidates];
        let mut budget = MAX_ATTEMPTS;
        while let Some(mut part) = waiting.pop() {
            let taken = budget > 0 && !part.is_empty() && self.accept(&part);
            budget = budget.saturating_sub(1);
            if taken {
                self.found.unrendered.extend(part.into_iter().map(|candidate| candidate.unrendered));
            } else if part.len() > 1 && budget > 0 {
                let second = part.split_off(part.len() / 2);
                waiting.extend([second, part]);
            } else {
                self.found.skipped.extend(part.into_iter().map(|candidate| candidate.unrendered.path));
            }
        }
        self.found.unrendered.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.skipped.sort();
        Ok(())
    }

    fn candidate(&self, finding: &Finding) -> Result<Option<Candidate>> {
        let Some(image) = &finding.reference else { return Ok(None) };
        if finding.issues.iter().any(Issue::is_unsupported) {
            return Ok(None);
        }
        let destination = match self.policy.destination(image) {
            Ok(Some(destination)) => destination,
            Ok(None) | Err(Error::InvalidDestination { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(assignments) = overrides::assignments(finding, &destination) else { return Ok(None) };
        if assignments.iter().any(|(path, _)| !self.baseline.options.filter.allows(path)) {
            return Ok(None);
        }
        let after = destination.relocated(image);
        let mut pairs = image_pairs(&finding.written, &after);
        for (path, text) in &assignments {
            if let Some(old) = path.find(&self.baseline.values).and_then(Node::as_str) {
                pairs.push((old.to_owned(), text.clone()));
            }
        }
        let before = finding.written.clone();
        let unrendered = UnrenderedImage { path: finding.path.clone(), before, after, carried: false };
        Ok(Some(Candidate { assignments, pairs, unrendered }))
    }

    /// Accepts candidates if a trial render shows no violation. Returns whether they were accepted.
    fn accept(&mut self, candidates: &[Candidate]) -> bool {
        let mut assignments = self.assignments.clone();
        let mut pairs = self.pairs.clone();
        for candidate in candidates {
            for (path, text) in &candidate.assignments {
                if assignments.get(path).is_some_and(|known| known != text) {
                    return false;
                }
                assignments.insert(path.clone(), text.clone());
            }
            pairs.extend(candidate.pairs.iter().cloned());
        }
        let images =
            moving(&self.image_fields, &self.desired, |number| self.outcomes[number] == Outcome::ByValues);
        let expected = ExpectedChange { images, image_fields: &self.image_fields, pairs };
        let comparison = self.baseline.attempt(&assignments, &expected);
        let pairs = expected.pairs;
        if !comparison.violations.is_empty() {
            return false;
        }
        (self.assignments, self.pairs) = (assignments, pairs);
        self.found.consequences = comparison.consequences;
        true
    }

    /// Records which suspects changed with the overrides, and which unrendered images appear only in such strings.
    fn mark_carried(&mut self) {
        let found = &mut self.found;
        for suspect in &mut found.suspects {
            let carries = found.consequences.iter().find(|one| one.difference.location == suspect.location);
            suspect.after = carries.map(|one| one.difference.after.clone());
        }
        for unrendered in &mut found.unrendered {
            let (old, new) = (name_of(&unrendered.before), name_of(&unrendered.after));
            let carries = |one: &Consequence| {
                one.kind == ConsequenceKind::Carries
                    && one.difference.before.contains(old)
                    && one.difference.after.contains(new)
            };
            unrendered.carried = found.consequences.iter().any(carries);
        }
    }

    fn finish(mut self) -> Relocation {
        if !self.assignments.is_empty() {
            self.found.overrides = self.baseline.overrides(&self.assignments);
        }
        self.found.suspects = suspects(&self.baseline.before, &self.image_fields);
        self.mark_carried();
        self.found.renders = self.baseline.rendering.renders();
        let mut lines: BTreeMap<(&str, &str), Option<TemplateLine>> = BTreeMap::new();
        for (number, field) in self.image_fields.iter().enumerate() {
            let outcome = self.outcomes[number].clone();
            let template = field.location.template.as_str();
            let find = || template_line::find(self.baseline.rendering.chart(), template, &field.image);
            let values = self.provenance.values(number);
            // Images without a value are shown with their template line, even if they do not move.
            let show_location = matches!(outcome, Outcome::NeedsRewrite(_)) || values.is_empty();
            let location = (template, field.image.as_str());
            let written =
                if show_location { lines.entry(location).or_insert_with(find).clone() } else { None };
            let after = self.desired[number].clone();
            self.found.images.push(Image { field: field.clone(), after, values, outcome, written });
        }
        self.found
    }
}

/// The new images of the fields that move.
fn moving<'m>(
    image_fields: &'m [Field],
    desired: &'m [Option<String>],
    moves: impl Fn(usize) -> bool,
) -> BTreeMap<&'m FieldLocation, &'m str> {
    let numbers = (0..image_fields.len()).filter(|number| moves(*number));
    numbers.filter_map(|number| Some((&image_fields[number].location, desired[number].as_deref()?))).collect()
}

fn add_image_pairs(
    image_fields: &[Field],
    images: &BTreeMap<&FieldLocation, &str>,
    pairs: &mut Vec<(String, String)>,
) {
    for field in image_fields {
        if let Some(after) = images.get(&field.location) {
            pairs.extend(image_pairs(&field.image, after));
        }
    }
}

/// Overrides for an image that is not rendered.
struct Candidate {
    assignments: Vec<(ValuePath, String)>,
    pairs: Vec<(String, String)>,
    unrendered: UnrenderedImage,
}

/// The replacements that result from moving an image: the whole reference, and its name alone.
fn image_pairs(before: &str, after: &str) -> Vec<(String, String)> {
    let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    vec![pair(before, after), pair(name_of(before), name_of(after))]
}
