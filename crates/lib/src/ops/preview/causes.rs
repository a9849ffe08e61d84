//! Why fields differ: each input that differs is reverted alone, and what changes with it has it as a cause.
//!
//! This needs no knowledge of templates, follows values through helpers and `tpl`, and proves what it says. Rendering takes
//! milliseconds; with many inputs, neighbours are reverted together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pintle_chart::{Chart, File};
use pintle_gitops::{App, ChartApp, Content, Layer, LayerData, Place};
use pintle_tree::{Map, Node, Segment, ValuePath};

use super::charts::LoadedChart;
use super::compare::{FieldKey, ObjectChange, ObjectChangeKind, field_keys};
use super::render::{ChartInput, RenderedApp, Renders};
use super::report::{Cause, CauseKind};

/// The most inputs that are reverted one by one.
const MAX_INPUTS: usize = 48;

/// An input that differs.
#[derive(Clone)]
struct Input {
    what: What,
    causes: Vec<Cause>,
}

#[derive(Clone)]
enum What {
    /// User's values at these paths.
    Values(Vec<ValuePath>),
    /// Files of a chart in the repository.
    Files(Vec<String>),
    /// Defaults of a chart in the repository.
    Defaults(Vec<ValuePath>),
    Chart,
    Release,
    Options,
}

/// Finds the causes of changes of an app that renders a chart.
pub(crate) fn of_chart(
    renders: &Renders,
    (base, head): (&RenderedApp, &RenderedApp),
    (old, new): (&Arc<ChartInput>, &Arc<ChartInput>),
    changes: &mut [ObjectChange],
) {
    let inputs = inputs((&base.app, &head.app), (old, new));
    let inputs = grouped(inputs);
    let mut found: BTreeMap<FieldKey, Vec<Cause>> = BTreeMap::new();
    for input in &inputs {
        let without = input.what.reverted(old, new);
        let Ok(objects) = renders.render_now(&without) else { continue };
        for key in field_keys(&objects.objects, head.objects()).into_keys() {
            found.entry(key).or_default().extend(input.causes.iter().cloned());
        }
    }
    // A field may need two inputs, either of which would do: then each is tried alone on the base.
    if changes.iter().any(|change| has_no_cause(change, &found)) {
        for input in &inputs {
            let with = input.what.reverted(new, old);
            let Ok(objects) = renders.render_now(&with) else { continue };
            for key in field_keys(base.objects(), &objects.objects).into_keys() {
                let causes = found.entry(key).or_default();
                causes.extend(
                    input.causes.iter().filter(|cause| !causes.contains(cause)).cloned().collect::<Vec<_>>(),
                );
            }
        }
    }
    let all: Vec<Cause> = inputs.iter().flat_map(|input| input.causes.iter().cloned()).collect();
    for change in changes {
        assign(change, &found, &all);
    }
}

fn key(change: &ObjectChange, name: &str) -> FieldKey {
    (change.id.clone(), name.to_owned())
}

fn has_no_cause(change: &ObjectChange, found: &BTreeMap<FieldKey, Vec<Cause>>) -> bool {
    match change.kind {
        ObjectChangeKind::Changed => {
            change.fields.iter().any(|field| causes_of(change, &field.name, found).is_empty())
        }
        _ => causes_of(change, "", found).is_empty(),
    }
}

/// The causes of a field: of the field itself, of one below or above it, or of the whole object.
fn causes_of(change: &ObjectChange, name: &str, found: &BTreeMap<FieldKey, Vec<Cause>>) -> Vec<Cause> {
    if let Some(causes) = found.get(&key(change, name)) {
        return causes.clone();
    }
    if let Some(causes) = found.get(&key(change, "")) {
        return causes.clone();
    }
    let related = found
        .iter()
        .filter(|((id, other), _)| *id == change.id && (is_within(other, name) || is_within(name, other)));
    let mut causes: Vec<Cause> = related.flat_map(|(_, causes)| causes.iter().cloned()).collect();
    causes.sort();
    causes.dedup();
    causes
}

fn is_within(name: &str, other: &str) -> bool {
    name.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn assign(change: &mut ObjectChange, found: &BTreeMap<FieldKey, Vec<Cause>>, all: &[Cause]) {
    let settle = |mut causes: Vec<Cause>| {
        if causes.is_empty() {
            // Only together do they have an effect.
            causes = all.iter().cloned().map(|cause| Cause { is_proven: false, ..cause }).collect();
        }
        causes.sort();
        causes.dedup();
        causes
    };
    if change.kind != ObjectChangeKind::Changed {
        change.causes = settle(causes_of(change, "", found));
        return;
    }
    let causes: Vec<Vec<Cause>> =
        change.fields.iter().map(|field| settle(causes_of(change, &field.name, found))).collect();
    for (field, causes) in change.fields.iter_mut().zip(causes) {
        field.causes = causes;
    }
}

/// All inputs that differ.
fn inputs((base, head): (&App, &App), (old, new): (&Arc<ChartInput>, &Arc<ChartInput>)) -> Vec<Input> {
    let (Content::Chart(before), Content::Chart(after)) = (&base.content, &head.content) else {
        return Vec::new();
    };
    let mut inputs = Vec::new();
    for path in different(&old.user, &new.user) {
        let causes = value_causes(before, after, &path, (&old.user, &new.user));
        inputs.push(Input { what: What::Values(vec![path]), causes });
    }
    if old.loaded.identity != new.loaded.identity {
        inputs.extend(chart_inputs(before, after, &old.loaded, &new.loaded));
    }
    if (&old.release, &old.namespace) != (&new.release, &new.namespace) {
        let text = |input: &ChartInput| format!("{}/{}", input.namespace, input.release);
        let cause =
            Cause::new(CauseKind::Release, "release", Some(head.place.clone())).with(text(old), text(new));
        inputs.push(Input { what: What::Release, causes: vec![cause] });
    }
    let options = |input: &ChartInput| {
        let ChartInput { skip_crds, skip_tests, kube_version, api_versions, post, .. } = input;
        (*skip_crds, *skip_tests, kube_version.clone(), api_versions.clone(), post.clone())
    };
    if options(old) != options(new) {
        let post = (old.post != new.post).then(|| after.post.iter().chain(&before.post).next()).flatten();
        let place = post.and_then(|post| post.place.clone()).unwrap_or_else(|| head.place.clone());
        let name = if old.post == new.post { "options" } else { "postRenderers" };
        inputs.push(Input {
            what: What::Options,
            causes: vec![Cause::new(CauseKind::Option, name, Some(place))],
        });
    }
    inputs
}

fn chart_inputs(before: &ChartApp, after: &ChartApp, old: &LoadedChart, new: &LoadedChart) -> Vec<Input> {
    let (Some(_), Some(folder)) = (&old.folder, &new.folder) else {
        let cause = Cause::new(CauseKind::Chart, "chart", after.version_place.clone())
            .with(name_of(before, &old.chart), name_of(after, &new.chart));
        return vec![Input { what: What::Chart, causes: vec![cause] }];
    };
    let mut inputs = Vec::new();
    let (files, others) = (by_name(&old.chart), by_name(&new.chart));
    let names: BTreeSet<&String> = files.keys().chain(others.keys()).collect();
    for name in names {
        let (one, other) = (files.get(name), others.get(name));
        if one == other {
            continue;
        }
        if name == "values.yaml" {
            for path in different(&old.chart.values, &new.chart.values) {
                let place = default_place(&new.chart, &old.chart, &path, folder);
                let cause = Cause::new(CauseKind::Default, path.to_string(), place)
                    .with(shown(path.find(&old.chart.values)), shown(path.find(&new.chart.values)));
                inputs.push(Input { what: What::Defaults(vec![path]), causes: vec![cause] });
            }
            continue;
        }
        let place = Place { file: format!("{folder}/{name}"), line: first_difference(one, other) };
        let kind = if name.starts_with("templates/") { CauseKind::Template } else { CauseKind::ChartFile };
        let cause = Cause::new(kind, name.clone(), Some(place));
        inputs.push(Input { what: What::Files(vec![name.clone()]), causes: vec![cause] });
    }
    inputs
}

fn name_of(app: &ChartApp, chart: &Chart) -> String {
    let _ = app;
    format!("{} {}", chart.metadata.name, chart.metadata.version)
}

fn by_name(chart: &Chart) -> BTreeMap<String, Vec<u8>> {
    chart.raw.iter().map(|file| (file.name.clone(), file.data.to_vec())).collect()
}

fn first_difference(one: Option<&Vec<u8>>, other: Option<&Vec<u8>>) -> usize {
    let (Some(one), Some(other)) = (one, other) else { return 1 };
    let lines =
        |text: &[u8]| -> Vec<Vec<u8>> { text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() };
    let (one, other) = (lines(one), lines(other));
    1 + one.iter().zip(&other).take_while(|(a, b)| a == b).count()
}

fn default_place(new: &Chart, old: &Chart, path: &ValuePath, folder: &str) -> Option<Place> {
    let line = [new, old].iter().find_map(|chart| {
        let file = chart.raw.iter().find(|file| file.name == "values.yaml")?;
        let text = file.data.to_vec();
        let outline = pintle_yaml::outline::Outline::read_first(&text).ok()?;
        outline.line_of(path)
    });
    Some(Place { file: format!("{folder}/values.yaml"), line: line.unwrap_or(1) })
}

/// The causes that a value differs: the layers that set it, and variables in them.
fn value_causes(
    before: &ChartApp,
    after: &ChartApp,
    path: &ValuePath,
    (old, new): (&Map<Node>, &Map<Node>),
) -> Vec<Cause> {
    let set_by = |app: &ChartApp| app.layers.iter().rev().find(|layer| sets(layer, path)).cloned();
    let layer = match (set_by(after), set_by(before)) {
        // A value that is gone was set by the layer of the base.
        (Some(layer), _) if path.find(new).is_some() => Some(layer),
        (_, Some(layer)) => Some(layer),
        (layer, None) => layer,
    };
    let Some(layer) = layer else { return vec![Cause::new(CauseKind::Value, path.to_string(), None)] };
    let (from, to) = (path.find(old), path.find(new));
    let is_secret = layer.kind == pintle_gitops::LayerKind::Secret;
    let shown = |node| if is_secret { hidden(node) } else { shown(node) };
    let cause = Cause {
        layer: layer.kind.name().to_owned(),
        ..Cause::new(CauseKind::Value, path.to_string(), layer.place(path))
    }
    .with(shown(from), shown(to));
    let mut causes = variable_causes(before, &layer, path);
    match causes.is_empty() {
        true => vec![cause],
        false => {
            // The line itself is the same on both sides.
            for variable in &mut causes {
                variable.via = format!(
                    "{path} at {}",
                    cause.place.as_ref().map(ToString::to_string).unwrap_or_default()
                );
            }
            causes
        }
    }
}

/// Variables in the line that sets a value, if they differ from those of the base.
fn variable_causes(before: &ChartApp, layer: &Layer, path: &ValuePath) -> Vec<Cause> {
    let Some((object, prefix)) = &layer.object else { return Vec::new() };
    let full = path.segments().iter().fold(prefix.clone(), |path, segment| path.with(segment.clone()));
    let old = before.layers.iter().find(|other| other.name == layer.name && other.kind == layer.kind);
    let old = old.and_then(|layer| layer.object.as_ref()).map(|(object, _)| object);
    let mut causes = Vec::new();
    for (name, variable) in object.variables_at(&full) {
        let value = old.and_then(|old| old.variables.get(name)).map(|variable| variable.value.clone());
        if value.as_deref() != Some(variable.value.as_str()) {
            let hide = |text: String| if variable.is_secret { "(hidden)".to_owned() } else { text };
            causes.push(
                Cause::new(CauseKind::Variable, name, variable.place.clone())
                    .with(hide(value.unwrap_or_default()), hide(variable.value.clone())),
            );
        }
    }
    causes
}

fn sets(layer: &Layer, path: &ValuePath) -> bool {
    match &layer.data {
        LayerData::Tree(values) => {
            let mut at = Some(path.clone());
            // A list that is replaced as a whole sets all of its items.
            while let Some(path) = at {
                if path.find(values).is_some() {
                    return !path.segments().is_empty();
                }
                at = match path.segments().last() {
                    Some(Segment::Index(_)) => path.parent(),
                    _ => None,
                };
            }
            false
        }
        LayerData::Set { path: own, .. } => {
            own.parse::<ValuePath>().is_ok_and(|own| own.is_within(path) || path.is_within(&own))
        }
    }
}

/// A value in one line.
pub(super) fn shown(node: Option<&Node>) -> String {
    match node {
        None => String::new(),
        Some(Node::Str(text)) => text.to_str_lossy().into_owned(),
        Some(node) => {
            String::from_utf8_lossy(&pintle_tree::json::write(node).unwrap_or_default()).into_owned()
        }
    }
}

fn hidden(node: Option<&Node>) -> String {
    node.map_or(String::new(), |_| "(hidden)".to_owned())
}

/// How deep values are told apart.
const MAX_DEPTH: usize = 60;

/// The paths at which two trees differ: leaves, and lists of different lengths.
fn different(old: &Map<Node>, new: &Map<Node>) -> Vec<ValuePath> {
    let mut paths = Vec::new();
    maps(old, new, &ValuePath::root(), &mut paths);
    paths
}

fn maps(old: &Map<Node>, new: &Map<Node>, at: &ValuePath, paths: &mut Vec<ValuePath>) {
    for (key, node) in old.iter() {
        nodes(Some(node), new.get(key), &at.key(key.clone()), paths);
    }
    for (key, node) in new.iter().filter(|(key, _)| !old.contains_key(key)) {
        nodes(None, Some(node), &at.key(key.clone()), paths);
    }
}

fn nodes(old: Option<&Node>, new: Option<&Node>, at: &ValuePath, paths: &mut Vec<ValuePath>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Some(Node::Map(old)), Some(Node::Map(new))) if at.segments().len() < MAX_DEPTH => {
            maps(old, new, at, paths)
        }
        (Some(Node::List(old)), Some(Node::List(new)))
            if old.len() == new.len() && at.segments().len() < MAX_DEPTH =>
        {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                nodes(Some(old), Some(new), &at.index(index), paths);
            }
        }
        _ => paths.push(at.clone()),
    }
}

/// Puts neighbours together until there are few enough inputs.
fn grouped(inputs: Vec<Input>) -> Vec<Input> {
    let mut inputs = inputs;
    while inputs.len() > MAX_INPUTS {
        let mut groups: Vec<Input> = Vec::new();
        let mut iterator = inputs.into_iter().peekable();
        let before = iterator.len();
        while let Some(mut input) = iterator.next() {
            if let Some(next) = iterator.peek()
                && input.what.join(&next.what)
            {
                let next = iterator.next();
                input.causes.extend(next.into_iter().flat_map(|next| next.causes));
            }
            groups.push(input);
        }
        inputs = groups;
        if inputs.len() == before {
            break;
        }
    }
    inputs
}

impl What {
    /// Takes over another input of the same kind.
    fn join(&mut self, other: &What) -> bool {
        match (self, other) {
            (What::Values(own), What::Values(more)) | (What::Defaults(own), What::Defaults(more)) => {
                own.extend(more.iter().cloned());
                true
            }
            (What::Files(own), What::Files(more)) => {
                own.extend(more.iter().cloned());
                true
            }
            _ => false,
        }
    }

    /// The new input with this part of the old one.
    fn reverted(&self, old: &ChartInput, new: &ChartInput) -> ChartInput {
        let mut input = new.clone();
        match self {
            What::Values(paths) => {
                for path in paths {
                    set(&mut input.user, path, path.find(&old.user).cloned());
                }
            }
            What::Defaults(paths) => {
                let mut chart = Chart::clone(&input.loaded.chart);
                for path in paths {
                    set(&mut chart.values, path, path.find(&old.loaded.chart.values).cloned());
                }
                input.loaded.chart = Arc::new(chart);
            }
            What::Files(names) => {
                if let Some(chart) = with_files(&old.loaded.chart, &new.loaded.chart, names) {
                    input.loaded.chart = Arc::new(chart);
                }
            }
            What::Chart => input.loaded = old.loaded.clone(),
            What::Release => {
                input.release.clone_from(&old.release);
                input.namespace.clone_from(&old.namespace);
            }
            What::Options => {
                input.skip_crds = old.skip_crds;
                input.skip_tests = old.skip_tests;
                input.kube_version.clone_from(&old.kube_version);
                input.api_versions.clone_from(&old.api_versions);
                input.post.clone_from(&old.post);
            }
        }
        input
    }
}

/// The new chart with some files of the old one.
fn with_files(old: &Chart, new: &Chart, names: &[String]) -> Option<Chart> {
    let mut files: Vec<File> = new.raw.iter().filter(|file| !names.contains(&file.name)).cloned().collect();
    files.extend(old.raw.iter().filter(|file| names.contains(&file.name)).cloned());
    let mut chart = pintle_chart::load_files(files).ok()?;
    // Subcharts that are not files of the chart: they were built for it.
    for subchart in &new.subcharts {
        if !chart.subcharts.iter().any(|known| known.name() == subchart.name()) {
            chart.subcharts.push(subchart.clone());
        }
    }
    Some(chart)
}

/// Sets or removes a node.
fn set(map: &mut Map<Node>, path: &ValuePath, node: Option<Node>) {
    let Some((last, parents)) = path.segments().split_last() else { return };
    let Some((first, rest)) = parents.split_first() else {
        if let Segment::Key(key) = last {
            match node {
                Some(node) => drop(map.insert(key.clone(), node)),
                None => drop(map.remove(key)),
            }
        }
        return;
    };
    let Segment::Key(first) = first else { return };
    let mut at = map.entry_or_insert_with(first, Node::empty_map);
    for segment in rest {
        at = match (segment, at) {
            (Segment::Key(key), Node::Map(map)) => map.entry_or_insert_with(key, Node::empty_map),
            (Segment::Index(index), Node::List(items)) if *index < items.len() => &mut items[*index],
            _ => return,
        };
    }
    match (last, at, node) {
        (Segment::Key(key), Node::Map(map), Some(node)) => drop(map.insert(key.clone(), node)),
        (Segment::Key(key), Node::Map(map), None) => drop(map.remove(key)),
        (Segment::Index(index), Node::List(items), Some(node)) if *index < items.len() => {
            items[*index] = node
        }
        _ => {}
    }
}

/// Finds the causes of changes of objects that are in the repository as they are.
pub(crate) fn of_objects((base, head): (&RenderedApp, &RenderedApp), changes: &mut [ObjectChange]) {
    for change in changes {
        let is_removed = change.kind == ObjectChangeKind::Removed;
        let old = source(base, change);
        let new = source(head, change);
        if change.kind != ObjectChangeKind::Changed {
            let place = if is_removed { old } else { new }.map(|object| object.start());
            let name = if is_removed { "removed" } else { "added" };
            change.causes = vec![Cause::new(CauseKind::Manifest, name, place)];
            continue;
        }
        for field in &mut change.fields {
            let side = if field.new.is_some() { new } else { old };
            let Some(object) = side.or(new) else { continue };
            let mut causes = Vec::new();
            for (name, variable) in object.variables_at(&field.path) {
                let value =
                    old.and_then(|old| old.variables.get(name)).map(|variable| variable.value.clone());
                if value.as_deref() != Some(variable.value.as_str()) {
                    let hide = |text: String| if variable.is_secret { "(hidden)".to_owned() } else { text };
                    causes.push(
                        Cause::new(CauseKind::Variable, name, variable.place.clone())
                            .with(hide(value.unwrap_or_default()), hide(variable.value.clone())),
                    );
                }
            }
            if causes.is_empty() {
                causes.push(Cause::new(CauseKind::Manifest, field.name.clone(), object.place(&field.path)));
            }
            field.causes = causes;
        }
    }
}

fn source<'a>(app: &'a RenderedApp, change: &ObjectChange) -> Option<&'a pintle_gitops::SourceObject> {
    let Content::Objects(objects) = &app.app.content else { return None };
    objects.iter().find(|object| {
        object.name() == change.id.name
            && object.kind() == change.id.kind
            && object.group() == change.id.group
            && object.namespace() == change.id.namespace
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map<Node> {
        pintle_yaml::read_map(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_differs_is_found_as_deep_as_it_can_be_reverted() {
        let old = map("{a: {b: 1, c: [1, 2], d: [1]}, e: 1}");
        let new = map("{a: {b: 2, c: [1, 3], d: [1, 2]}, f: 1}");
        let paths: Vec<String> = different(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["a.b", "a.c[1]", "a.d", "e", "f"]);
        let mut reverted = new.clone();
        for path in different(&old, &new) {
            set(&mut reverted, &path, path.find(&old).cloned());
        }
        assert_eq!(reverted, old);
    }
}
