//! What happens to the objects of a release: removed and renamed ones, immutable fields, CRDs, hooks and images.

use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::Chart;
use pintle_images::Reference;
use pintle_objects::Object;
use pintle_plan::crd::{lost_fields, lost_versions};
use pintle_tree::Node;

use crate::check::Request;
use crate::facts::{self, Fact};
use crate::immutable;
use crate::report::{Finding, FindingKind, Severity};
use crate::side::Render;

type Objects = BTreeMap<String, (String, Object)>;

/// Compares the objects of both charts.
pub(crate) fn check(request: &Request<'_>, before: &Render, after: &Render) -> Vec<Finding> {
    let (olds, news) = (facts::objects(before), facts::objects(after));
    let mut findings = lost(&olds, &news);
    for (name, (_, old)) in &olds {
        if let Some((_, new)) = news.get(name) {
            findings.extend(immutable::changes(name, old, new));
            findings.extend(images(name, old, new));
        }
    }
    findings.extend(hooks(&olds, &news));
    findings.extend(definitions(request, &olds, &news));
    findings
}

const HOOK: &str = "helm.sh/hook";

fn is_hook(object: &Object) -> bool {
    object.annotation(HOOK).is_some()
}

/// Objects that are gone. One of the same kind that is new and nearly equal is the same with another name.
fn lost(olds: &Objects, news: &Objects) -> Vec<Finding> {
    let plain = |objects: &Objects, others: &Objects| -> Vec<String> {
        let gone =
            objects.iter().filter(|(name, (_, object))| !is_hook(object) && !others.contains_key(*name));
        gone.filter(|(_, (_, object))| object.kind() != "CustomResourceDefinition")
            .map(|(name, _)| name.clone())
            .collect()
    };
    let (gone, mut fresh) = (plain(olds, news), plain(news, olds));
    let mut findings = Vec::new();
    for name in gone {
        let (path, object) = &olds[&name];
        let best = fresh.iter().map(|other| (likeness(path, object, &news[other]), other.clone()));
        let best = best.filter(|(share, _)| *share >= 0.6).max_by(|a, b| a.0.total_cmp(&b.0));
        let keeps_data = matches!(object.kind(), "PersistentVolumeClaim" | "StatefulSet" | "Namespace");
        match best {
            Some((_, other)) => {
                fresh.retain(|fresh| *fresh != other);
                let end = if keeps_data { "; its data stays with the old one" } else { "" };
                let message = format!("it is named {other} in the new chart: the old one is deleted{end}");
                let severity = if keeps_data { Severity::Error } else { Severity::Warning };
                let finding = Finding::new(FindingKind::RenamedObject, severity, name.clone(), message);
                findings.push(finding.about([other]));
            }
            None => {
                let severity = if keeps_data { Severity::Error } else { Severity::Warning };
                let message = "the new chart does not have this object, so it is deleted";
                findings.push(Finding::new(FindingKind::RemovedObject, severity, name, message));
            }
        }
    }
    for name in fresh {
        let message = "only the new chart has this object";
        findings.push(Finding::new(FindingKind::AddedObject, Severity::Info, name, message));
    }
    findings
}

/// How much of two objects of one kind is equal, from 0 to 1. Names in them are not compared.
fn likeness(path: &str, old: &Object, (other_path, new): &(String, Object)) -> f64 {
    if old.kind() != new.kind() {
        return 0.0;
    }
    let facts = |object: &Object| {
        let mut facts = BTreeSet::new();
        facts::add_object(object, "", &mut facts);
        let name = object.name().to_owned();
        facts
            .into_iter()
            .map(|fact: Fact| (fact.field, fact.value.replace(&name, "@")))
            .collect::<BTreeSet<_>>()
    };
    let (old, new) = (facts(old), facts(new));
    let share = old.intersection(&new).count() as f64 / old.union(&new).count().max(1) as f64;
    // One template that makes one object of a kind makes the same object.
    let below = |path: &str| path.split_once('/').map(|(_, rest)| rest.to_owned());
    if below(path) == below(other_path) { share + 0.25 } else { share }
}

/// Images of containers with another major version.
fn images(name: &str, old: &Object, new: &Object) -> Vec<Finding> {
    let images = |object: &Object| -> BTreeMap<String, Reference> {
        let mut facts = BTreeSet::new();
        facts::add_object(object, "", &mut facts);
        let of_container = |fact: &Fact| fact.field.ends_with("].image") && fact.field.contains("ontainers[");
        let found = facts.into_iter().filter(of_container);
        found.filter_map(|fact| Some((fact.field, Reference::parse(&fact.value).ok()?))).collect()
    };
    let news = images(new);
    let mut findings = Vec::new();
    for (field, old) in images(old) {
        let Some(new) = news.get(&field) else { continue };
        let (Some(before), Some(after)) = (old.tag(), new.tag()) else { continue };
        let steps = (major(before), major(after));
        if let (Some(left), Some(right)) = steps
            && left != right
            && old.repository() == new.repository()
        {
            let step = if left < right { "a new major version" } else { "an older major version" };
            let message = format!("{} goes from {before} to {after}, {step}", old.repository());
            let subject = format!("{name} {field}");
            findings.push(Finding::new(FindingKind::MajorImage, Severity::Warning, subject, message));
        }
    }
    findings
}

/// The major version of a tag such as `v1.2.3-debian`.
fn major(tag: &str) -> Option<u64> {
    let digits = tag.trim_start_matches('v');
    let end = digits.find(|at: char| !at.is_ascii_digit()).unwrap_or(digits.len());
    // A plain number is a date or a build.
    if end == digits.len() && digits.len() > 3 {
        return None;
    }
    digits[..end].parse().ok()
}

/// Hooks that were added, removed or changed.
fn hooks(olds: &Objects, news: &Objects) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |name: &str, message: String| {
        findings.push(Finding::new(FindingKind::ChangedHook, Severity::Info, name, message));
    };
    for (name, (_, new)) in news {
        let after = new.annotation(HOOK);
        match (olds.get(name).map(|(_, old)| old.annotation(HOOK)), after) {
            (None, Some(events)) => add(name, format!("a new hook, which runs at {events}")),
            (Some(None), Some(events)) => {
                add(name, format!("this object becomes a hook, which runs at {events}"))
            }
            (Some(Some(_)), None) => add(name, "this hook becomes an ordinary object".to_owned()),
            (Some(Some(before)), Some(events)) if before != events => {
                add(name, format!("this hook runs at {events} instead of {before}"));
            }
            _ => {}
        }
    }
    for (name, (_, old)) in olds {
        if is_hook(old) && !news.contains_key(name) {
            add(name, "the new chart does not have this hook".to_owned());
        }
    }
    findings
}

/// CRDs that are gone or lose versions or fields, in `crds/` and in templates.
fn definitions(request: &Request<'_>, olds: &Objects, news: &Objects) -> Vec<Finding> {
    let all = |chart: &Chart, objects: &Objects| -> BTreeMap<String, Object> {
        let files = chart.crds().into_iter().flat_map(|crd| {
            Object::read_readable(&crd.file.data.text().to_str_lossy().into_owned().into_bytes())
        });
        let rendered = objects.values().map(|(_, object)| object.clone());
        let is_definition = |object: &Object| object.kind() == "CustomResourceDefinition";
        files.chain(rendered).filter(is_definition).map(|object| (object.name().to_owned(), object)).collect()
    };
    let (before, after) = (all(request.old, olds), all(request.new, news));
    let mut findings = Vec::new();
    for (name, old) in before {
        let Some(new) = after.get(&name) else {
            let is_rendered = olds.contains_key(&format!("CustomResourceDefinition/{name}"));
            let (severity, message) = match is_rendered {
                true => (
                    Severity::Error,
                    "the new chart does not have this CRD: it is deleted, with all its objects",
                ),
                false => (Severity::Warning, "the new chart does not have this CRD; it stays in the cluster"),
            };
            findings.push(Finding::new(FindingKind::RemovedCrd, severity, name, message));
            continue;
        };
        for version in lost_versions(&as_stored(&old), new) {
            let message =
                format!("the new CRD does not have version {version}, in which objects may be stored");
            findings.push(Finding::new(
                FindingKind::RemovedCrdVersion,
                Severity::Error,
                name.clone(),
                message,
            ));
        }
        for field in lost_fields(&old, new) {
            let message = format!("objects of {name} may lose {}: {}", field.path_text(), field.why);
            let subject = format!("{name} {}", field.path_text());
            findings.push(Finding::new(FindingKind::RemovedCrdField, Severity::Warning, subject, message));
        }
    }
    findings
}

/// A definition as a cluster would have it, in which objects of all served versions may be stored.
fn as_stored(definition: &Object) -> Object {
    let versions = definition.at(&["spec", "versions"]).and_then(Node::as_list).unwrap_or_default();
    let names: Vec<Node> = versions.iter().filter_map(|version| version.get("name").cloned()).collect();
    let mut status = pintle_tree::Map::new();
    status.insert("storedVersions".into(), Node::List(names));
    let mut stored = definition.clone();
    stored.body_mut().insert("status".into(), Node::Map(status));
    stored
}
