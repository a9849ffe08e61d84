//! Conversion of the deprecated AppArmor annotations of new pods to fields (`applyAppArmorVersionSkew`).

use pintle_tree::Node;

use crate::fields::{at, list, map_of, map_or_insert, text};
use crate::validation::APP_ARMOR;

/// Sets the fields from annotations and returns the names of the containers that had only an annotation.
pub(super) fn mutate(pod: &mut Node) -> Vec<String> {
    let mut old = Vec::new();
    if text(pod, &["spec", "os", "name"]) == "windows" {
        return old;
    }
    for kind in ["initContainers", "containers", "ephemeralContainers"] {
        for index in 0..list(pod, &["spec", kind]).len() {
            let Some((name, profile)) = missing(pod, kind, index) else { continue };
            old.push(name);
            if let Some(profile) = profile {
                set(pod, kind, index, profile);
            }
        }
    }
    old
}

/// A container that has only an annotation, and its profile, if the annotation is valid.
fn missing(pod: &Node, kind: &str, index: usize) -> Option<(String, Option<Node>)> {
    let container = list(pod, &["spec", kind]).get(index)?;
    let name = text(container, &["name"]);
    let annotation = at(pod, &["metadata", "annotations", &format!("{APP_ARMOR}{name}")])?.as_str()?;
    if at(container, &["securityContext", "appArmorProfile"]).is_some() {
        return None;
    }
    let profile = to_profile(annotation);
    let is_of_pod =
        profile.is_some() && profile.as_ref() == at(pod, &["spec", "securityContext", "appArmorProfile"]);
    if is_of_pod { None } else { Some((name.to_owned(), profile)) }
}

fn set(pod: &mut Node, kind: &str, index: usize, profile: Node) {
    let spec = pod.as_map_mut().and_then(|pod| map_or_insert(pod, "spec"));
    if let Some(Node::List(containers)) = spec.and_then(|spec| spec.get_mut(kind))
        && let Some(container) = containers.get_mut(index).and_then(Node::as_map_mut)
        && let Some(context) = map_or_insert(container, "securityContext")
    {
        context.insert("appArmorProfile".into(), profile);
    }
}

fn to_profile(annotation: &str) -> Option<Node> {
    match (annotation, annotation.strip_prefix("localhost/")) {
        ("unconfined", _) => Some(map_of(&[("type", "Unconfined".into())])),
        ("runtime/default", _) => Some(map_of(&[("type", "RuntimeDefault".into())])),
        (_, Some(name)) if !name.is_empty() => {
            Some(map_of(&[("localhostProfile", name.into()), ("type", "Localhost".into())]))
        }
        _ => None,
    }
}
