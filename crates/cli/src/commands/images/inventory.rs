//! The output of `images inspect` as data.

use std::collections::{BTreeMap, BTreeSet};

use pintle::chart::Chart;
use pintle::images::{
    Finding, Image, Issue, PathFilter, Policy, Reference, Relocation, Role, Shape, Suspect, ValuePath,
};
use pintle::ops::ChartInput;
use pintle::ops::images::Inspected;
use pintle_tree::{Map, Node, Str};

use crate::output::format::Record;

/// Selects the images to show.
pub(super) struct Filter<'c> {
    /// The source and excluded registries.
    pub(super) policy: &'c Policy,
    /// Whether to show only images of the source registries.
    pub(super) filtered: bool,
    /// The values to include.
    pub(super) filter: &'c PathFilter,
}

impl Filter<'_> {
    fn shows(&self, registry: &str) -> bool {
        !self.filtered || self.policy.sources.iter().flatten().any(|source| source.matches(registry))
    }
}

/// The record of a chart.
pub(super) fn record(subject: &ChartInput, seen: &Inspected, filter: &Filter<'_>, path: &str) -> Record {
    let metadata = &subject.chart.metadata;
    let chart = Record::default()
        .with("name", metadata.name.as_str())
        .with("version", metadata.version.as_str())
        .with("path", path)
        .with("dependencies", i64::try_from(subcharts(&seen.chart)).unwrap_or(i64::MAX));
    let findings: Vec<&Finding> =
        seen.detection.images.iter().filter(|finding| is_shown(finding, filter)).collect();
    let rendered = &seen.relocation;
    let used = used_values(rendered);
    let mut images: Vec<Record> =
        findings.iter().filter_map(|finding| image(finding, &used, filter)).collect();
    images.extend(only_rendered(seen, rendered, filter));
    let globals = seen.detection.globals.iter();
    let globals = globals.map(|global| {
        Record::default().with("path", global.path.to_string()).with("value", global.text.as_str())
    });
    let record = Record::default()
        .with_record("chart", chart)
        .with_records("registries", by_registry(seen, filter))
        .with("images", Node::List(Vec::new()))
        .with_records("globalRegistries", globals.collect())
        .with_records("imagePatterns", findings.iter().map(|finding| pattern(finding)).collect())
        .with_records("unreachable", unreachable(rendered, filter))
        .with_records("suspects", suspects(&rendered.suspects, filter))
        .with_records("unsupported", findings.iter().flat_map(|finding| unsupported(finding)).collect())
        .with_records("errors", findings.iter().filter_map(|finding| error(finding)).collect());
    if images.is_empty() { record } else { record.replacing("images", images) }
}

/// The registries that images come from, with the number of images in values and in rendered objects.
fn by_registry(seen: &Inspected, filter: &Filter<'_>) -> Vec<Record> {
    let mut counts: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for image in seen.detection.images.iter().filter_map(|finding| finding.reference.as_ref()) {
        counts.entry(image.registry()).or_default().0 += 1;
    }
    for image in &seen.relocation.images {
        if let Ok(image) = Reference::parse(&image.field.image) {
            counts.entry(image.registry()).or_default().1 += 1;
        }
    }
    counts.retain(|registry, _| filter.shows(registry));
    let record = |(registry, (values, rendered)): (String, (i64, i64))| {
        let record = Record::default().with("registry", registry.as_str());
        let record = record.with("inValues", values).with("rendered", rendered);
        match filter.policy.excludes_registry(&registry) {
            true => record.with("excluded", true),
            false => record,
        }
    };
    counts.into_iter().map(record).collect()
}

/// What was found in values, and why, for the log level `debug`.
pub(super) fn debug_lines(seen: &Inspected) -> Vec<String> {
    let values = seen.detection.images.iter().map(|finding| {
        let issues: Vec<String> = finding.issues.iter().map(ToString::to_string).collect();
        let registry = finding.reference.as_ref().map_or_else(|| "unknown".to_owned(), Reference::registry);
        let issues = if issues.is_empty() { String::new() } else { format!("; {}", issues.join("; ")) };
        format!(
            "debug: value {} of chart {} ({}, {}): `{}`, registry {registry}{issues}",
            finding.path,
            finding.chart,
            finding.shape.name(),
            finding.origin,
            finding.written
        )
    });
    let rendered = seen.relocation.images.iter().map(|image| {
        let from: Vec<String> = image.values.iter().map(ToString::to_string).collect();
        let from = if from.is_empty() { "no value".to_owned() } else { from.join(", ") };
        format!("debug: {} renders `{}` from {from}", image.field.object, image.field.image)
    });
    values.chain(rendered).collect()
}

/// The number of enabled subcharts.
fn subcharts(chart: &Chart) -> usize {
    chart.subcharts.iter().map(|subchart| 1 + subcharts(subchart)).sum()
}

/// The registries of the rendered images.
pub(super) fn rendered_registries(seen: &Inspected) -> BTreeSet<String> {
    seen.relocation
        .images
        .iter()
        .filter_map(|image| Reference::parse(&image.field.image).ok())
        .map(|image| image.registry())
        .collect()
}

fn is_shown(finding: &Finding, filter: &Filter<'_>) -> bool {
    match &finding.reference {
        Some(image) => filter.shows(&image.registry()),
        // Its registry is unknown.
        None => true,
    }
}

/// The values that determine an image of a rendered object.
fn used_values(rendered: &Relocation) -> BTreeSet<&ValuePath> {
    rendered.images.iter().flat_map(|image| &image.values).collect()
}

fn image(finding: &Finding, used: &BTreeSet<&ValuePath>, filter: &Filter<'_>) -> Option<Record> {
    let image = finding.reference.as_ref()?;
    let registry = image.registry();
    let written = match finding.part(Role::Registry).filter(|part| !part.text.is_empty()) {
        Some(part) => Some(part.text.clone()),
        None => image.written_registry().map(str::to_owned),
    };
    let tag = image.tag().or(finding.assumed_tag.as_deref());
    let path = finding.naming_path();
    let mut record = Record::default()
        .with("registry", registry.as_str())
        .with("repository", image.repository())
        .with_option("tag", tag)
        .with_option("digest", image.digest())
        .with("source", path.to_string())
        .with_option("originalRegistry", written.filter(|written| *written != registry))
        .with("valuePath", finding.path.to_string())
        .with("chart", finding.chart.as_str())
        .with("origin", finding.origin.to_string())
        .with("rendered", finding.parts.iter().any(|part| used.contains(&part.path)));
    if filter.policy.excludes_registry(&registry) {
        record = record.with("excluded", true);
    }
    Some(record)
}

/// Rendered images whose values were not recognised as images, or that have none.
fn only_rendered(seen: &Inspected, rendered: &Relocation, filter: &Filter<'_>) -> Vec<Record> {
    let parts = seen.detection.images.iter().flat_map(|finding| &finding.parts);
    let known: BTreeSet<&ValuePath> = parts.map(|part| &part.path).collect();
    let mut more: BTreeMap<String, Record> = BTreeMap::new();
    for found in rendered.images.iter() {
        let allowed = found.values.iter().all(|path| filter.filter.allows(path));
        if !allowed || found.values.iter().any(|path| known.contains(path)) {
            continue;
        }
        let Ok(image) = Reference::parse(&found.field.image) else { continue };
        if !filter.shows(&image.registry()) {
            continue;
        }
        let source = match found.values.first() {
            Some(path) => path.to_string(),
            None => found.field.location.template.clone(),
        };
        let record = Record::default()
            .with("registry", image.registry())
            .with("repository", image.repository())
            .with_option("tag", image.tag())
            .with_option("digest", image.digest())
            .with("source", source)
            .with("rendered", true);
        more.entry(found.field.image.clone()).or_insert(record);
    }
    more.into_values().collect()
}

/// How the image is written in the values.
fn pattern(finding: &Finding) -> Record {
    let kind = if matches!(finding.shape, Shape::String | Shape::Embedded(_)) { "string" } else { "map" };
    let structure =
        finding.parts.iter().map(|part| (Str::from(part.role.name()), Node::from(part.text.as_str())));
    let structure = Map::from_entries(structure.collect());
    Record::default()
        .with("path", finding.path.to_string())
        .with("type", kind)
        .with("shape", finding.shape.name())
        .with("structure", Node::Map(structure))
        .with("value", finding.written.as_str())
        .with("count", 1_i64)
}

fn unsupported(finding: &Finding) -> Vec<Record> {
    let issues = finding.issues.iter().filter(|issue| !matches!(issue, Issue::Unparsable(_)));
    issues.map(|issue| issue_record(finding, issue)).collect()
}

fn error(finding: &Finding) -> Option<Record> {
    let issue = finding.issues.iter().find(|issue| matches!(issue, Issue::Unparsable(_)))?;
    Some(issue_record(finding, issue))
}

fn issue_record(finding: &Finding, issue: &Issue) -> Record {
    Record::default()
        .with("path", finding.naming_path().to_string())
        .with("type", issue.name())
        .with("value", finding.written.as_str())
        .with("message", issue.to_string())
}

/// Images that are fixed in templates.
fn unreachable(found: &Relocation, filter: &Filter<'_>) -> Vec<Record> {
    let shown = |image: &&Image| match Reference::parse(&image.field.image) {
        Ok(reference) => filter.shows(&reference.registry()),
        Err(_) => true,
    };
    let images = found.images.iter().filter(|image| image.values.is_empty()).filter(shown);
    let record = |image: &Image| {
        let template = image.written.as_ref().map_or(&image.field.location.template, |at| &at.template);
        let line = image.written.as_ref().map(|at| i64::try_from(at.line).unwrap_or(i64::MAX));
        Record::default()
            .with("image", image.field.image.as_str())
            .with("object", image.field.object.to_string())
            .with("field", image.field.location.path.to_string())
            .with("template", template.as_str())
            .with_option("line", line)
    };
    images.map(record).collect()
}

fn suspects(suspects: &[Suspect], filter: &Filter<'_>) -> Vec<Record> {
    let shown = |suspect: &&Suspect| match Reference::parse(&suspect.image) {
        Ok(reference) => filter.shows(&reference.registry()),
        Err(_) => true,
    };
    let record = |suspect: &Suspect| {
        Record::default()
            .with("image", suspect.image.as_str())
            .with("kind", suspect.kind.name())
            .with("object", suspect.object.as_str())
            .with("field", suspect.location.path.to_string())
            .with("template", suspect.location.template.as_str())
    };
    suspects.iter().filter(shown).map(record).collect()
}
