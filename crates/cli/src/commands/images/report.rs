//! The report of `images override`: each image before and after, what was not relocated and why, and a summary.

use pintle::images::{Finding, Image, Issue, Obstacle, Outcome, Part, Policy, Relocation, Segment};
use pintle::ops::ChartInput;
use pintle::ops::images::Inspected;
use pintle_tree::json;

use crate::failure::{Failure, FailureKind};
use crate::output::format::Record;

/// From this success rate on, missing images are only a warning.
const WARNING: u64 = 98;

/// The report about one chart.
pub(super) struct Report<'r> {
    chart: &'r str,
    seen: &'r Inspected,
    policy: &'r Policy,
    /// Whether the result was verified by rendering.
    proved: bool,
    /// The number of images.
    all: usize,
    /// The number of images to relocate.
    total: usize,
    /// The number of these that were not relocated.
    failed: usize,
}

impl<'r> Report<'r> {
    /// The report of a chart.
    pub(super) fn new(
        subject: &'r ChartInput,
        seen: &'r Inspected,
        policy: &'r Policy,
        proved: bool,
    ) -> Self {
        let (total, failed) =
            if proved { count_rendered(&seen.relocation) } else { count_values(seen, policy) };
        let all = if proved { seen.relocation.images.len() } else { seen.detection.images.len() };
        Report { chart: subject.chart.name(), seen, policy, proved, all, total, failed }
    }

    /// Whether less than `threshold` per cent were relocated.
    pub(super) fn is_below(&self, threshold: u64) -> bool {
        let moved = self.total - self.failed;
        u64::try_from(moved).unwrap_or(0) * 100 < threshold * u64::try_from(self.total).unwrap_or(0)
    }

    fn status(&self) -> &'static str {
        match (self.failed, self.is_below(WARNING)) {
            (0, _) => "OK",
            (_, false) => "WARNING",
            (_, true) => "CRITICAL",
        }
    }

    /// The success rate in per cent.
    pub(super) fn details(&self) -> String {
        if self.total == 0 {
            return format!("0 of {} images in scope", self.all);
        }
        let moved = self.total - self.failed;
        let rate = moved as f64 * 100.0 / self.total as f64;
        format!("{rate:.1}% images matched ({}/{} failed)", self.failed, self.total)
    }

    /// The summary in one line.
    pub(super) fn verdict(&self) -> String {
        format!("{}: {}", self.status(), self.details())
    }

    /// The warnings.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for finding in self.relevant_findings() {
            let moves = self.is_moved(finding);
            let issues = finding.issues.iter().filter(|issue| match issue {
                // What is written as a whole or verified is complete.
                Issue::InList | Issue::NoTagKey => !moves,
                _ => true,
            });
            let path = finding.naming_path();
            if let Some(keys) = split_keys(finding) {
                warnings
                    .push(format!("{path}: the image is split over the keys {keys} (`{}`)", finding.written));
            }
            warnings.extend(issues.map(|issue| format!("{path}: {issue} (`{}`)", finding.written)));
        }
        for (target, images) in self.collisions() {
            warnings.push(format!("{} would all be {target}", images.join(" and ")));
        }
        warnings
    }

    fn collisions(&self) -> Vec<(String, Vec<String>)> {
        let of_values = self.seen.detection.images.iter().filter_map(|finding| finding.reference.clone());
        let rendered = self.seen.relocation.images.iter();
        let rendered = rendered.filter_map(|image| pintle::images::Reference::parse(&image.field.image).ok());
        let all: Vec<_> = of_values.chain(rendered).collect();
        let collisions = self.policy.collisions(&all);
        collisions.into_iter().map(|(target, images)| (target, images.into_iter().collect())).collect()
    }

    /// The findings that the policy applies to, or for which this is unknown.
    fn relevant_findings(&self) -> impl Iterator<Item = &'r Finding> {
        let policy = self.policy;
        self.seen.detection.images.iter().filter(move |finding| match &finding.reference {
            Some(image) => policy.moves(&image.registry()),
            None => true,
        })
    }

    /// Whether an image of the values is relocated by the generated values.
    fn is_moved(&self, finding: &Finding) -> bool {
        let paths = || finding.parts.iter().map(|part| &part.path);
        let found = &self.seen.relocation;
        if !self.proved {
            return paths().any(|path| path.find(&found.overrides).is_some());
        }
        let moves = |image: &Image| {
            image.outcome == Outcome::ByValues && paths().any(|path| image.values.contains(path))
        };
        found.unrendered.iter().any(|unreachable_records| unreachable_records.path == finding.path)
            || found.images.iter().any(moves)
    }

    /// The first image to relocate that has both a tag and a digest in one string.
    pub(super) fn tag_and_digest(&self) -> Option<String> {
        let finding =
            self.relevant_findings().find(|finding| finding.issues.contains(&Issue::TagAndDigest))?;
        let path = finding.naming_path();
        Some(format!(
            "error parsing image in values path '{path}': '{}' has both a tag and a digest",
            finding.written
        ))
    }

    /// The first problem that `--strict` rejects, with its failure kind.
    pub(super) fn strict(&self) -> Option<(FailureKind, String)> {
        for finding in self.relevant_findings() {
            let path = finding.naming_path();
            for issue in &finding.issues {
                let class = match issue {
                    Issue::Unparsable(_)
                        if finding
                            .reference
                            .as_ref()
                            .is_some_and(|image| matches!(self.policy.destination(image), Ok(Some(_)))) =>
                    {
                        continue;
                    }
                    Issue::Unparsable(_) => FailureKind::BadImage,
                    Issue::NoTagKey | Issue::InList if self.is_moved(finding) => continue,
                    Issue::TagAndDigest => continue,
                    _ => FailureKind::Unsupported,
                };
                let what = match issue {
                    Issue::Unparsable(_) => "cannot parse image reference ",
                    _ => "",
                };
                let text = format!(
                    "error parsing image in values path '{path}': {what}'{}': {issue}",
                    finding.written
                );
                return Some((class, text));
            }
        }
        for image in &self.seen.relocation.images {
            if let Outcome::Unparsable(why) = &image.outcome {
                let text = format!(
                    "cannot parse image reference '{}' of {}: {why}",
                    image.field.image, image.field.object
                );
                return Some((FailureKind::BadImage, text));
            }
        }
        let stuck = self
            .seen
            .relocation
            .images
            .iter()
            .find(|image| matches!(image.outcome, Outcome::NeedsRewrite(_)))?;
        Some((FailureKind::Unsupported, format!("no value moves {}", target(stuck))))
    }

    /// The text output: each image before and after.
    pub(super) fn lines(&self, debug: bool) -> Vec<String> {
        if !self.proved {
            let moves = by_policy(self.seen, self.policy);
            return moves.map(|(finding, after)| format!("  {} -> {after}", finding.written)).collect();
        }
        let found = &self.seen.relocation;
        let mut lines = Vec::new();
        for image in unique(found) {
            match (&image.outcome, &image.after) {
                (Outcome::ByValues, Some(after)) => lines.push(format!("  {} -> {after}", image.field.image)),
                (Outcome::NeedsRewrite(obstacle), _) => {
                    lines.push(format!("  stays: {}: {}", target(image), obstacle_text(obstacle)));
                }
                (Outcome::Unparsable(why), _) => lines.push(format!("  stays: {}: {why}", target(image))),
                _ => {}
            }
        }
        let unreachable_records = found.unrendered.iter();
        lines.extend(unreachable_records.map(|it| {
            let use_of_it = if it.carried { "carried by other fields" } else { "not used with these values" };
            format!("  {} -> {} ({use_of_it})", it.before, it.after)
        }));
        let staying = found.suspects.iter().filter(|suspect| suspect.after.is_none()).count();
        if staying > 0 {
            lines.push(format!(
                "  {staying} other strings look like images and are kept; `images inspect` lists them"
            ));
        }
        if debug {
            lines.push(format!("  rendered {} times", found.renders));
        }
        lines
    }

    /// The report as data.
    pub(super) fn json(&self) -> Result<Vec<u8>, Failure> {
        let mut record = Record::default()
            .with("chart", self.chart)
            .with("status", self.status())
            .with("details", self.details())
            .with("proved", self.proved);
        if self.proved {
            let found = &self.seen.relocation;
            record = record
                .with_records("images", found.images.iter().map(image_record).collect())
                .with_records("unreachable_records", unreachable_records(found))
                .with_records("suspects", suspects(found))
                .with_records("side_effect_records", side_effect_records(found));
        }
        let warnings = self.warnings().into_iter().map(|text| Record::default().with("message", text));
        let record = record.with_records("warnings", warnings.collect());
        let text = json::write_pretty(&record);
        let mut text =
            text.map_err(|error| Failure::run_time(format!("cannot write the report: {error}")))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// The keys of an image that is split in another way than `registry`, `repository` and `tag` or `digest`.
fn split_keys(finding: &Finding) -> Option<String> {
    let key = |part: &Part| match part.path.segments().last() {
        Some(Segment::Key(key)) => key.as_str().map(str::to_owned),
        _ => None,
    };
    let keys: Vec<String> = finding.parts.iter().filter_map(key).collect();
    let is_standard = |key: &String| matches!(key.as_str(), "registry" | "repository" | "tag" | "digest");
    (keys.len() > 1 && !keys.iter().all(is_standard)).then(|| keys.join(" and "))
}

/// Counts the rendered images to relocate, and those that were not.
fn count_rendered(found: &Relocation) -> (usize, usize) {
    let failed = found
        .images
        .iter()
        .filter(|image| matches!(image.outcome, Outcome::NeedsRewrite(_) | Outcome::Unparsable(_)));
    let moved = found.images.iter().filter(|image| image.outcome == Outcome::ByValues).count();
    let failed = failed.count();
    (moved + failed, failed)
}

/// The same count by the values alone, without rendering.
fn count_values(seen: &Inspected, policy: &Policy) -> (usize, usize) {
    let moves: Vec<_> = by_policy(seen, policy).collect();
    let stays = |finding: &&Finding| {
        !finding.parts.iter().any(|part| part.path.find(&seen.relocation.overrides).is_some())
    };
    let failed = moves.iter().map(|(finding, _)| *finding).filter(stays).count();
    (moves.len(), failed)
}

/// The images in values to relocate, with their targets.
fn by_policy<'s>(seen: &'s Inspected, policy: &'s Policy) -> impl Iterator<Item = (&'s Finding, String)> {
    seen.detection.images.iter().filter_map(|finding| {
        let image = finding.reference.as_ref()?;
        let destination = policy.destination(image).ok()??;
        Some((finding, destination.relocated(image)))
    })
}

/// The images of a chart; equal texts with equal results are listed once.
fn unique(found: &Relocation) -> Vec<&Image> {
    let mut seen: Vec<(&str, &Outcome)> = Vec::new();
    found
        .images
        .iter()
        .filter(|image| {
            let key = (image.field.image.as_str(), &image.outcome);
            let is_new = !seen.contains(&key);
            if is_new {
                seen.push(key);
            }
            is_new
        })
        .collect()
}

fn target(image: &Image) -> String {
    let template = match &image.written {
        Some(line) => line.to_string(),
        None => image.field.location.template.clone(),
    };
    format!("{} ({}, {template})", image.field.image, image.field.object)
}

fn obstacle_text(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Hardcoded => "its registry is written in the template".to_owned(),
        Obstacle::Shape => "its values cannot hold a path".to_owned(),
        Obstacle::Shared { value, other } => format!("`{value}` serves {other} too"),
        Obstacle::SideEffect { value, what } => format!("`{value}` would also change {what}"),
    }
}

fn image_record(image: &Image) -> Record {
    let (outcome, reason) = match &image.outcome {
        Outcome::ByValues => ("by values", None),
        Outcome::NeedsRewrite(obstacle) => ("needs rewrite", Some(obstacle_text(obstacle))),
        Outcome::Excluded => ("excluded", None),
        Outcome::Unchanged => ("left alone", None),
        Outcome::Unparsable(why) => ("unparsable", Some(why.clone())),
    };
    let values: Vec<pintle_tree::Node> = image.values.iter().map(|path| path.to_string().into()).collect();
    Record::default()
        .with("image", image.field.image.as_str())
        .with_option("relocated", image.after.as_deref())
        .with("outcome", outcome)
        .with_option("reason", reason)
        .with("object", image.field.object.to_string())
        .with("field", image.field.location.path.to_string())
        .with("template", image.field.location.template.as_str())
        .with_option("line", image.written.as_ref().map(|at| i64::try_from(at.line).unwrap_or(i64::MAX)))
        .with("values", pintle_tree::Node::List(values))
}

fn unreachable_records(found: &Relocation) -> Vec<Record> {
    let record = |it: &pintle::images::UnrenderedImage| {
        Record::default()
            .with("path", it.path.to_string())
            .with("image", it.before.as_str())
            .with("relocated", it.after.as_str())
            .with("carried", it.carried)
    };
    found.unrendered.iter().map(record).collect()
}

fn suspects(found: &Relocation) -> Vec<Record> {
    let record = |it: &pintle::images::Suspect| {
        Record::default()
            .with("image", it.image.as_str())
            .with("kind", it.kind.name())
            .with_option("becomes", it.after.as_deref())
            .with("object", it.object.as_str())
            .with("field", it.location.path.to_string())
            .with("template", it.location.template.as_str())
    };
    found.suspects.iter().map(record).collect()
}

fn side_effect_records(found: &Relocation) -> Vec<Record> {
    let record = |it: &pintle::images::Consequence| {
        Record::default()
            .with("object", it.difference.object.to_string())
            .with("field", it.difference.location.path.to_string())
            .with("template", it.difference.location.template.as_str())
    };
    found.consequences.iter().map(record).collect()
}
