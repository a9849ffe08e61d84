//! Inspects the embedded cluster of a rehearsal: what the chart created, the events about it, and what remains at the
//! end.

use std::collections::{BTreeMap, BTreeSet};

use pintle_embedded::Api;
use pintle_tree::{Node, Str};

use super::{EventLine, Finding, Severity};

/// Reads the store of the embedded cluster directly.
pub(super) struct Observer {
    api: Api,
    namespace: String,
    /// The objects that existed before the chart was installed.
    before: BTreeSet<Str>,
    /// The events that were already returned, with their counts.
    reported: BTreeMap<Str, i64>,
}

fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    path.iter().try_fold(node, |node, step| node.get(step)).and_then(Node::as_str).unwrap_or_default()
}

impl Observer {
    pub(super) fn new(api: Api, namespace: &str) -> Observer {
        let namespace = namespace.to_owned();
        Observer { api, namespace, before: BTreeSet::new(), reported: BTreeMap::new() }
    }

    pub(super) fn kube_version(&self) -> String {
        self.api.catalog().version().to_string()
    }

    /// Returns the minor version of Kubernetes.
    pub(super) fn minor(&self) -> u64 {
        u64::from(self.api.catalog().minor())
    }

    fn all(&self, prefix: &str) -> Vec<(Str, Node)> {
        let listing = self.api.store().list(prefix, None, usize::MAX, None, &|_| true);
        let objects = listing.map(|listing| listing.objects).unwrap_or_default();
        objects.iter().map(|object| (object.key.clone(), object.node())).collect()
    }

    /// Records all existing objects as not created by the chart.
    pub(super) fn record_existing(&mut self) {
        self.before = self.all("").into_iter().map(|(key, _)| key).collect();
    }

    /// Returns `Kind/name`, with the namespace if it is not that of the release.
    pub(super) fn name_of(&self, kind: &str, namespace: &str, name: &str) -> String {
        if namespace.is_empty() || namespace == self.namespace {
            format!("{kind}/{name}")
        } else {
            format!("{kind}/{namespace}/{name}")
        }
    }

    /// Returns generated names, each with its replacement.
    fn generated_names(&self) -> Vec<(String, String)> {
        let mut names = BTreeMap::new();
        let Ok((events, _)) = self.api.store().changes("", 0) else { return Vec::new() };
        for event in events {
            let key = event.object.key.to_str_lossy();
            if key.starts_with("replicasets.apps/") {
                // The names of these objects are hashes of their content, which may be a password.
                let node = event.object.node();
                let name = text(&node, &["metadata", "name"]).to_owned();
                let hash = text(&node, &["metadata", "labels", "pod-template-hash"]);
                if let Some(beginning) = name.strip_suffix(hash).filter(|_| !hash.is_empty()) {
                    names.insert(name.clone(), format!("{beginning}*"));
                }
            }
            if key.starts_with("pods/") || key.starts_with("persistentvolumes/") {
                let node = event.object.node();
                let name = text(&node, &["metadata", "name"]).to_owned();
                let beginning = text(&node, &["metadata", "generateName"]);
                if !beginning.is_empty() {
                    names.insert(name, format!("{beginning}*"));
                } else if name.starts_with("pvc-") {
                    names.insert(name, "pvc-*".to_owned());
                }
                names.insert(text(&node, &["metadata", "uid"]).to_owned(), "*".to_owned());
            }
        }
        // Longest first, so that no name is replaced as part of another.
        let mut names: Vec<(String, String)> =
            names.into_iter().filter(|(name, _)| !name.is_empty()).collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names
    }

    /// Replaces generated names in a text, so that reports are reproducible.
    pub(super) fn normalize(&self, text: &str) -> String {
        replaced(&without_times(text), &self.generated_names())
    }

    /// Returns the events since the last call, without duplicates.
    pub(super) fn events(&mut self) -> Vec<EventLine> {
        let names = self.generated_names();
        let mut lines = BTreeSet::new();
        for (key, event) in self.all("events/") {
            let count = match event.get("count") {
                Some(Node::Int(count)) => *count,
                _ => 1,
            };
            if self.reported.insert(key, count) == Some(count) {
                continue;
            }
            let involved = |field: &str| text(&event, &["involvedObject", field]);
            lines.insert(EventLine {
                object: replaced(
                    &self.name_of(involved("kind"), involved("namespace"), involved("name")),
                    &names,
                ),
                kind: text(&event, &["type"]).to_owned(),
                reason: text(&event, &["reason"]).to_owned(),
                message: replaced(text(&event, &["message"]), &names),
            });
        }
        lines.into_iter().collect()
    }

    /// Returns a finding for each object that remains after the uninstall.
    pub(super) fn remaining_objects(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (key, node) in self.all("") {
            let name = key.to_str_lossy();
            let owned = node.get("metadata").and_then(|it| it.get("ownerReferences")).is_some();
            if self.before.contains(&key) || owned || name.starts_with("events/") {
                continue;
            }
            let Some(why) = reason_kept(&node) else { continue };
            let object = self.name_of(
                text(&node, &["kind"]),
                text(&node, &["metadata", "namespace"]),
                text(&node, &["metadata", "name"]),
            );
            found.push(Finding {
                severity: Severity::Note,
                stage: "uninstall",
                object,
                file: String::new(),
                line: 0,
                rendered_line: 0,
                message: format!("left behind: {why}"),
            });
        }
        found
    }
}

/// Returns why an object remains; `None` for objects that only depend on another one.
fn reason_kept(node: &Node) -> Option<&'static str> {
    let annotation = |name: &str| text(node, &["metadata", "annotations", name]);
    let kind = text(node, &["kind"]);
    if annotation("helm.sh/resource-policy") == "keep" {
        return Some("its resource policy says keep");
    }
    let goes_by_itself = node.get("spec").and_then(|spec| spec.get("ttlSecondsAfterFinished")).is_some();
    if kind == "Job" && goes_by_itself {
        return None;
    }
    if !annotation("helm.sh/hook").is_empty() {
        return Some("it is a hook, and no delete policy removes it");
    }
    match kind {
        "PersistentVolumeClaim" => Some("volume claims of a StatefulSet outlive it; delete them by hand"),
        "PersistentVolume" if !text(node, &["spec", "claimRef", "uid"]).is_empty() => None,
        "CustomResourceDefinition" => Some("CRDs in crds/ are never deleted"),
        // Created by the cluster in every namespace.
        "ServiceAccount" if text(node, &["metadata", "name"]) == "default" => None,
        "ConfigMap" if text(node, &["metadata", "name"]) == "kube-root-ca.crt" => None,
        _ => Some("the release does not contain it"),
    }
}

/// Removes the events from a diagnosis, because they contain times; they are reported separately.
fn without_times(text: &str) -> String {
    let reported = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        !(line.trim_start().starts_with("events of ") || words.get(1) == Some(&"ago"))
    };
    text.lines().filter(reported).collect::<Vec<&str>>().join("\n")
}

fn replaced(text: &str, names: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (name, placeholder) in names {
        if text.contains(name.as_str()) {
            text = text.replace(name.as_str(), placeholder);
        }
    }
    without_refused_names(&text)
}

/// Removes the generated suffix from names of rejected pods, which were never stored and so are not in
/// `generated_names`.
fn without_refused_names(text: &str) -> String {
    const PODS: &str = "pods \"";
    /// The length of the suffix that Kubernetes generates.
    const LENGTH: usize = 5;
    let mut reported = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(PODS) {
        reported.push_str(before);
        reported.push_str(PODS);
        let name = after.split_once("\" is forbidden").map_or("", |(name, _)| name);
        match name.rsplit_once('-') {
            Some((beginning, end)) if end.len() == LENGTH && !name.contains('"') => {
                reported.push_str(&format!("{}-*", beginning.trim_end_matches("-*")));
            }
            _ => reported.push_str(name),
        }
        rest = &after[name.len()..];
    }
    reported + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rejected_pods_lose_their_generated_suffix() {
        let text = r#"Error creating: pods "web-*-9qtbt" is forbidden: no; pods "db-x2x4z" is forbidden: no"#;
        let reported = r#"Error creating: pods "web-*" is forbidden: no; pods "db-*" is forbidden: no"#;
        assert_eq!(without_refused_names(text), reported);
        for plain in
            [r#"pods "web-test-connection" is forbidden"#, r#"pods "web-*" not found, "a"#, "pods \""]
        {
            assert_eq!(without_refused_names(plain), plain);
        }
    }
}
