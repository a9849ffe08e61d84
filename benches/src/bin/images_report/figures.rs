//! The counters of the report.

use pintle_images::{Image, Outcome};

use crate::case::CaseResult;

/// Counts over some cases.
#[derive(Default)]
pub(crate) struct Figures {
    /// Charts with sets of values.
    pub(crate) cases: usize,
    /// Image fields of rendered objects.
    pub(crate) images: usize,
    /// Of these, those that some value affects.
    pub(crate) found: usize,
    /// Those that overrides relocate, as verified.
    pub(crate) by_values: usize,
    /// Those that only rewriting relocates.
    pub(crate) rewrite: usize,
    /// Fields that hold no image reference.
    pub(crate) unparsable: usize,
    /// Images that neither overrides nor rewriting relocated.
    pub(crate) missed: usize,
    /// Overrides that change something else.
    pub(crate) stray: usize,
    /// Images that are moved for other values than the present ones.
    pub(crate) unrendered: usize,
    /// Strings elsewhere that look like images.
    pub(crate) suspects: usize,
    /// Of these, those that overrides move along, because the same value makes them.
    pub(crate) carried: usize,
    /// The number of renderings.
    pub(crate) renders: usize,
}

impl Figures {
    /// Counts a case.
    pub(crate) fn add(&mut self, done: &CaseResult) {
        let relocation = &done.relocation;
        let count = |is: fn(&Image) -> bool| relocation.images.iter().filter(|image| is(image)).count();
        self.cases += 1;
        self.images += relocation.images.len();
        self.found += count(|image| !image.values.is_empty());
        self.by_values += count(|image| image.outcome == Outcome::ByValues);
        self.rewrite += count(|image| matches!(image.outcome, Outcome::NeedsRewrite(_)));
        self.unparsable += count(|image| matches!(image.outcome, Outcome::Unparsable(_)));
        self.missed += done.missed.len();
        self.stray += usize::from(!done.stray.is_empty());
        self.unrendered += relocation.unrendered.len();
        self.suspects += relocation.suspects.len();
        self.carried += relocation.suspects.iter().filter(|suspect| suspect.after.is_some()).count();
        self.renders += relocation.renders;
    }

    /// The share of the valid image references, in percent.
    pub(crate) fn rate(&self, part: usize) -> f64 {
        let images = self.images - self.unparsable;
        if images == 0 { 100.0 } else { 100.0 * part as f64 / images as f64 }
    }
}
