//! One chart with one set of values: relocates its images and checks the result independently.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use pintle_chart::{Chart, File};
use pintle_images::overrides::required_extra_values;
use pintle_images::{
    Detection, Field, Files, Outcome, PathFilter, Policy, Reference, RelocateOptions, Relocation, Rendering,
    Scopes, Source, Target, detect, fields, relocate, rewrite,
};
use pintle_objects::Order;
use pintle_render::{Capabilities, Release};
use pintle_tree::{Map, Node, set};
use pintle_values::NullRules;

/// The target registry.
const TARGET: &str = "hub.corp:5000";

/// A chart with one set of values.
pub(crate) struct Case {
    /// The name of the archive.
    pub(crate) chart: String,
    /// A values file inside the chart; the defaults if there is none.
    pub(crate) values: Option<String>,
    archive: PathBuf,
    set: String,
}

/// The result of a case.
pub(crate) struct CaseResult {
    pub(crate) relocation: Relocation,
    /// Images that were not relocated by overrides and rewriting.
    pub(crate) missed: Vec<String>,
    /// Differences other than images and their consequences, such as checksums.
    pub(crate) stray: Vec<String>,
    /// The time for detection, overrides and verification.
    pub(crate) time: Duration,
}

/// The defaults of every chart, and each values file that it ships.
pub(crate) fn all(folder: &Path, chart: Option<&str>) -> Result<Vec<Case>> {
    let index = folder.join("INDEX.tsv");
    let index =
        std::fs::read_to_string(&index).with_context(|| format!("cannot read {}", index.display()))?;
    let mut rows = index.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = rows.next().unwrap_or_default();
    let column =
        |name: &str| header.iter().position(|column| *column == name).context("the index lacks a column");
    let (file, values, set) = (column("file")?, column("values_files")?, column("set")?);
    let mut cases = Vec::new();
    for row in rows.filter(|row| row.len() == header.len()) {
        if chart.is_some_and(|chart| !row[file].contains(chart)) {
            continue;
        }
        let given = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
        let case = |values: Option<&str>| Case {
            chart: row[file].trim_end_matches(".tgz").to_owned(),
            values: values.map(str::to_owned),
            archive: folder.join(row[file]),
            set: given(row[set]),
        };
        cases.push(case(None));
        // `!` marks a values file that does not render.
        let files = row[values].split(',').filter(|name| *name != "-" && !name.ends_with('!'));
        cases.extend(files.map(|name| case(Some(name))));
    }
    Ok(cases)
}

impl Case {
    /// Relocates all images and checks the result.
    pub(crate) fn run(&self) -> Result<CaseResult> {
        let begin = Instant::now();
        let files = pintle_chart::read_archive(std::fs::read(&self.archive)?)?;
        let user = self.user_values(&files)?;
        let loaded = pintle_chart::load_files(files)?;
        loaded.check_installable()?;
        let chart =
            pintle_values::process_dependencies(loaded.clone(), &user, NullRules::Helm4, &mut Vec::new())?;
        let target = target();
        let mut rendering = Rendering::new(&chart, &user, &target, NullRules::Helm4)?;
        let before = rendering.render(&Map::new()).map_err(|error| anyhow!(error))?;
        // A document that is not an object fails the installation, so its images do not matter.
        pintle_objects::sort(&before, Order::Install)?;
        let policy = relocate_all(&before)?;
        let relocation = moved(&loaded, &chart, &user, &mut rendering, &policy)?;
        let time = begin.elapsed();
        let (missed, stray) = check(&chart, &user, &relocation, &policy, &before)?;
        Ok(CaseResult { relocation, missed, stray, time })
    }

    fn user_values(&self, files: &[File]) -> Result<Map<Node>> {
        let mut user = Map::new();
        if let Some(name) = &self.values {
            let file = files.iter().find(|file| file.name == *name).context("the values file is missing")?;
            user = pintle_yaml::read_values(&file.data.text())?;
        }
        if !self.set.is_empty() {
            set::assign(&self.set, &mut user)?;
        }
        Ok(user)
    }
}

fn moved(
    loaded: &Chart,
    chart: &Chart,
    user: &Map<Node>,
    rendering: &mut Rendering<'_>,
    policy: &Policy,
) -> Result<Relocation> {
    let scopes = Scopes::new(loaded, chart);
    let values = rendering.values(&Map::new())?;
    let filter = PathFilter::default();
    let detection: Detection = detect(&scopes, user, &values, &filter);
    let options =
        RelocateOptions { filter, detection: Some(&detection), extra_values: required_extra_values(&scopes) };
    Ok(relocate(rendering, policy, &options)?)
}

fn target() -> pintle_render::Target {
    let release = Release { name: "rel".into(), namespace: "default".into(), revision: 1, is_upgrade: false };
    let mut target = pintle_render::Target::offline(release, Capabilities::default());
    target.repeatable = true;
    target
}

/// A policy that relocates every image.
fn relocate_all(files: &Files) -> Result<Policy> {
    let registry = |field: &Field| Reference::parse_loosely(&field.image).ok().map(|image| image.registry());
    let registries: BTreeSet<String> = fields(files).iter().filter_map(registry).collect();
    let sources = registries.iter().map(|registry| Source::parse(registry)).collect::<Result<_, _>>()?;
    Ok(Policy { sources: Some(sources), target: Some(Target::parse(TARGET)?), ..Policy::default() })
}

/// Renders with the overrides, rewrites the rest, and compares images and lines with the original.
fn check(
    chart: &Chart,
    user: &Map<Node>,
    relocation: &Relocation,
    policy: &Policy,
    before: &Files,
) -> Result<(Vec<String>, Vec<String>)> {
    let target = target();
    let mut rendering = Rendering::new(chart, user, &target, NullRules::Helm4)?;
    if rendering.check(&Map::new()).is_ok() {
        rendering.check(&relocation.overrides)?;
    }
    let after = rendering.render(&relocation.overrides).map_err(|error| anyhow!(error))?;
    let stray = stray_lines(before, &after);
    let found = fields(&rewritten(after, policy)?);
    let truth = fields(before);
    if found.len() != truth.len() || truth.len() != relocation.images.len() {
        bail!("{} images became {}", truth.len(), found.len());
    }
    let mut missed = Vec::new();
    for ((then, now), image) in truth.iter().zip(&found).zip(&relocation.images) {
        let wanted = policy.relocated(&then.image).ok().flatten();
        let is_image = !matches!(image.outcome, Outcome::Unparsable(_));
        if is_image && Some(&now.image) != wanted.as_ref() {
            missed.push(format!("{} became {}", then.image, now.image));
        }
    }
    Ok((missed, stray))
}

fn rewritten(files: Files, policy: &Policy) -> Result<Files> {
    let mut rewritten = Files::new();
    for (path, text) in files {
        let changed = match rewrite(&text, policy)?.0 {
            Cow::Owned(changed) => Some(changed),
            Cow::Borrowed(_) => None,
        };
        rewritten.push((path, changed.unwrap_or(text)));
    }
    Ok(rewritten)
}

/// Changed lines without a relocated image or, by their length, a digest. Base64 is skipped, because the comparison of
/// objects decodes it.
fn stray_lines(before: &Files, after: &Files) -> Vec<String> {
    let mut stray = Vec::new();
    for ((path, old), (_, new)) in before.iter().zip(after) {
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        if old.lines().count() != new.lines().count() {
            stray.push(format!("{path} has other lines"));
        }
        for (old, new) in old.lines().zip(new.lines()) {
            let is_encoded = new.rsplit([' ', '"']).find(|word| !word.is_empty()).is_some_and(|word| {
                word.len() > 60
                    && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
            });
            if old != new && !new.contains(TARGET) && old.len() != new.len() && !is_encoded {
                stray.push(format!("{path}: `{}` became `{}`", old.trim(), new.trim()));
            }
        }
    }
    stray
}
