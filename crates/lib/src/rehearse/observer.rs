//! What is in the cluster of a rehearsal: what the chart has kinds_defined, what was told about it, what it leaves behind.

use std::collections::{BTreeMap, BTreeSet};

use pintle_embedded::Api;
use pintle_tree::{Node, Str};

use super::{EventLine, Finding, Severity};

/// Looks behind the state.
pub(super) struct Observer {
    api: Api,
    namespace: String,
    /// What was there before the chart.
    before: BTreeSet<Str>,
    /// The events that were told already, with their counts.
    told: BTreeMap<Str, i64>,
}

fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    path.iter().try_fold(node, |node, step| node.get(step)).and_then(Node::as_str).unwrap_or_default()
}

impl Observer {
    pub(super) fn new(api: Api, namespace: &str) -> Observer {
        let namespace = namespace.to_owned();
        Observer { api, namespace, before: BTreeSet::new(), told: BTreeMap::new() }
    }

    pub(super) fn kube_version(&self) -> String {
        self.api.catalog().version().to_string()
    }

    /// The minor version.
    pub(super) fn minor(&self) -> u64 {
        u64::from(self.api.catalog().minor())
    }

    fn all(&self, prefix: &str) -> Vec<(Str, Node)> {
        let listing = self.api.store().list(prefix, None, usize::MAX, None, &|_| true);
        let objects = listing.map(|listing| listing.objects).unwrap_or_default();
        objects.iter().map(|object| (object.key.clone(), object.node())).collect()
    }

    /// Takes what is there as given.
    pub(super) fn record_existing(&mut self) {
        self.before = self.all("").into_iter().map(|(key, _)| key).collect();
    }

    /// `Kind/name`, with the namespace where it is another.
    pub(super) fn name_of(&self, kind: &str, namespace: &str, name: &str) -> String {
        if namespace.is_empty() || namespace == self.namespace {
            format!("{kind}/{name}")
        } else {
            format!("{kind}/{namespace}/{name}")
        }
    }

    /// Names that were made up, with what stands for them.
    fn generated_names(&self) -> Vec<(String, String)> {
        let mut names = BTreeMap::new();
        let Ok((events, _)) = self.api.store().changes("", 0) else { return Vec::new() };
        for event in events {
            let key = event.object.key.to_str_lossy();
            if key.starts_with("replicasets.apps/") {
                // Their names come from what is in them, which may be a password.
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
        // Long ones first, so that none is taken for a part of another.
        let mut names: Vec<(String, String)> =
            names.into_iter().filter(|(name, _)| !name.is_empty()).collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names
    }

    /// A text without names that were made up.
    pub(super) fn normalize(&self, text: &str) -> String {
        replaced(&without_times(text), &self.generated_names())
    }

    /// What was told since this was asked last, each once.
    pub(super) fn events(&mut self) -> Vec<EventLine> {
        let names = self.generated_names();
        let mut lines = BTreeSet::new();
        for (key, event) in self.all("events/") {
            let count = match event.get("count") {
                Some(Node::Int(count)) => *count,
                _ => 1,
            };
            if self.told.insert(key, count) == Some(count) {
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

    /// What is there after the release has gone.
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

/// Why an object stays; nothing for what only follows from another.
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
        return Some("it is a hook, and no delete policy takes it away");
    }
    match kind {
        "PersistentVolumeClaim" => Some("leases of a StatefulSet outlive it; delete them by hand"),
        "PersistentVolume" if !text(node, &["spec", "claimRef", "uid"]).is_empty() => None,
        "CustomResourceDefinition" => Some("definitions in crds/ are never deleted"),
        // What the cluster itself puts into every namespace.
        "ServiceAccount" if text(node, &["metadata", "name"]) == "default" => None,
        "ConfigMap" if text(node, &["metadata", "name"]) == "kube-root-ca.crt" => None,
        _ => Some("uninstalling does not know of it"),
    }
}

/// A diagnosis without its events, which have times; they are told by themselves.
fn without_times(text: &str) -> String {
    let told = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        !(line.trim_start().starts_with("events of ") || words.get(1) == Some(&"ago"))
    };
    text.lines().filter(told).collect::<Vec<&str>>().join("\n")
}

fn replaced(text: &str, names: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (name, stands) in names {
        if text.contains(name.as_str()) {
            text = text.replace(name.as_str(), stands);
        }
    }
    without_refused_names(&text)
}

/// A text without the made-up ends of the names of pods that were refused, and so never were among those there are.
fn without_refused_names(text: &str) -> String {
    const PODS: &str = "pods \"";
    /// How long such an end is.
    const LENGTH: usize = 5;
    let mut told = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(PODS) {
        told.push_str(before);
        told.push_str(PODS);
        let name = after.split_once("\" is forbidden").map_or("", |(name, _)| name);
        match name.rsplit_once('-') {
            Some((beginning, end)) if end.len() == LENGTH && !name.contains('"') => {
                told.push_str(&format!("{}-*", beginning.trim_end_matches("-*")));
            }
            _ => told.push_str(name),
        }
        rest = &after[name.len()..];
    }
    told + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rejected_pods_lose_their_generated_suffix() {
        let text = r#"Error creating: pods "web-*-9qtbt" is forbidden: no; pods "db-x2x4z" is forbidden: no"#;
        let told = r#"Error creating: pods "web-*" is forbidden: no; pods "db-*" is forbidden: no"#;
        assert_eq!(without_refused_names(text), told);
        for plain in
            [r#"pods "web-test-connection" is forbidden"#, r#"pods "web-*" not found, "a"#, "pods \""]
        {
            assert_eq!(without_refused_names(plain), plain);
        }
    }
}
