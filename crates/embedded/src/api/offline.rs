//! What a server would say about a new object, without a server: for checks of manifests.

use pintle_tree::{Node, Str};

use super::custom_resources;
use super::meta::{set, text_at, unset};
use super::request_body::encode_string_data;
use crate::admission::{self, AdmissionContext};
use crate::decoding::BuiltIn;
use crate::defaulting;
use crate::quantity::{NOT_A_QUANTITY, Quantity};
use crate::schema::{ApiCatalog, Kind, Schema};
use crate::status::StatusCause;
use crate::validation;

/// The definition of quantities.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// How deep quantities are looked for: deeper than any definition is.
const MAX_DEPTH: usize = 64;

/// What the server of a version of Kubernetes refuses about a new object of a built-in kind: values that cannot be decoded,
/// and what its validation finds. Other objects that it refers to are assumed to exist. An object whose kind is not built in
/// has no problems.
pub fn validate_new_object(catalog: &'static ApiCatalog, object: &Node) -> Vec<StatusCause> {
    let api_version = text_at(object, &["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let Some(resource) = catalog.kind(group, version, text_at(object, &["kind"])) else { return Vec::new() };
    let Some(schema) = catalog.schema(resource) else { return Vec::new() };
    let mut causes = Vec::new();
    find_quantities(schema, object, &mut String::new(), &mut causes);
    if !causes.is_empty() {
        // The object cannot be decoded, so the server says nothing else about it either.
        return causes;
    }
    let built_in = BuiltIn::find(&resource.api_version(), &resource.kind.to_string(), schema);
    let mut new = match built_in.map(|built_in| {
        // As a client sends it: numbers of YAML and JSON do not differ then.
        let text = pintle_tree::json::write_raw(object).map_err(|error| error.to_string())?;
        built_in.decode(&text)
    }) {
        Some(Ok(decoded)) => decoded.object,
        Some(Err(message)) => {
            return vec![StatusCause { reason: "FieldValueInvalid", message, field: String::new() }];
        }
        None => object.clone(),
    };
    set(&mut new, &["apiVersion"], resource.api_version());
    set(&mut new, &["kind"], resource.kind.clone());
    let kind = Kind { resource, schema: Some(schema), custom: false, minor: catalog.minor() };
    if (group, kind.resource.kind.as_str()) == ("", Some("Secret")) {
        encode_string_data(&mut new);
    }
    defaulting::apply_defaults(kind, &mut new);
    complete(kind, &mut new);
    let is_definition =
        (group, kind.resource.kind.as_str()) == ("apiextensions.k8s.io", Some("CustomResourceDefinition"));
    if is_definition {
        custom_resources::default_definition(&mut new);
        causes = custom_resources::validate_definition(&new);
    }
    if causes.is_empty() {
        causes = validation::validate_create(kind, &new);
    }
    let mut seen: Vec<(String, String)> = Vec::new();
    // Newer servers validate some fields twice.
    causes.retain(|cause| {
        let key = (cause.field.clone(), cause.message.clone());
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    causes
}

/// Sets what a server sets before it validates.
fn complete(kind: Kind<'_>, object: &mut Node) {
    for field in ["deletionTimestamp", "resourceVersion", "selfLink"] {
        unset(object, &["metadata", field]);
    }
    if !kind.resource.namespaced {
        unset(object, &["metadata", "namespace"]);
    } else if text_at(object, &["metadata", "namespace"]).is_empty() {
        set(object, &["metadata", "namespace"], "default");
    }
    let beginning = text_at(object, &["metadata", "generateName"]).to_owned();
    if text_at(object, &["metadata", "name"]).is_empty() && !beginning.is_empty() {
        set(object, &["metadata", "name"], format!("{beginning}00000"));
    }
    if kind.resource.subresource("status").is_some() {
        unset(object, &["status"]);
    }
    set(object, &["metadata", "uid"], "00000000-0000-0000-0000-000000000000");
    admission::mutate_create(kind, object, &mut NoCluster);
}

/// A cluster that has whatever is asked for.
struct NoCluster;

impl AdmissionContext for NoCluster {
    fn suffix(&mut self) -> String {
        "00000".to_owned()
    }

    fn cluster_ip(&mut self) -> String {
        "10.96.0.11".to_owned()
    }

    fn node_port(&mut self) -> u16 {
        30_000
    }

    fn default_storage_class(&mut self) -> Option<Str> {
        None
    }

    fn priority(&mut self, _class: &str) -> Option<(i64, Str)> {
        Some((0, "PreemptLowerPriority".into()))
    }

    fn now(&mut self) -> Str {
        "1970-01-01T00:00:00Z".into()
    }

    fn has_account(&mut self, _namespace: &str, _name: &str) -> bool {
        true
    }

    fn warn(&mut self, _text: String) {}
}

/// Finds texts that are not quantities. The server's decoder says only that there is one, and not where.
fn find_quantities(schema: Schema<'_>, node: &Node, path: &mut String, causes: &mut Vec<StatusCause>) {
    if path.matches(['.', '[']).count() > MAX_DEPTH {
        return;
    }
    if schema.definition().and_then(Str::as_str) == Some(QUANTITY) {
        if let Some(text) = node.as_str()
            && Quantity::parse(text.trim()).is_none()
        {
            let detail = match meant(text) {
                Some(meant) => format!("not a quantity; did you mean {meant}?"),
                None => NOT_A_QUANTITY.to_owned(),
            };
            causes.push(StatusCause::invalid(path.as_str(), node, &detail));
        }
        return;
    }
    let before = path.len();
    match node {
        Node::Map(map) => {
            for (key, value) in map.iter() {
                let Some(key) = key.as_str() else { continue };
                let (child, step) = match schema.field(key) {
                    Some(child) => (Some(child), format!(".{key}")),
                    None => (schema.additional(), format!("[{key}]")),
                };
                let Some(child) = child else { continue };
                path.push_str(if before == 0 { step.trim_start_matches('.') } else { &step });
                find_quantities(child, value, path, causes);
                path.truncate(before);
            }
        }
        Node::List(items) => {
            let Some(child) = schema.items() else { return };
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                find_quantities(child, item, path, causes);
                path.truncate(before);
            }
        }
        _ => {}
    }
}

/// The quantities that people mean by other notations: `64MB`, `64mb`, `64 Mi`, `1GiB`, `500M CPU` not among them.
fn meant(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = (&text[..end], text[end..].trim());
    let unit = unit.to_ascii_lowercase();
    let (letter, is_binary) = match unit.as_str() {
        "k" | "kb" => ('k', false),
        "ki" | "kib" => ('K', true),
        "m" | "mb" => ('M', false),
        "mi" | "mib" => ('M', true),
        "g" | "gb" => ('G', false),
        "gi" | "gib" => ('G', true),
        "t" | "tb" => ('T', false),
        "ti" | "tib" => ('T', true),
        _ => return None,
    };
    let likely = match is_binary {
        true => format!("`{number}{letter}i`"),
        false => format!("`{number}{}i` or `{number}{letter}`", letter.to_ascii_uppercase()),
    };
    (!number.is_empty()).then_some(likely)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let object = pintle_yaml::read_exact(text.as_bytes()).expect("YAML");
        let causes = validate_new_object(ApiCatalog::newest(), &object);
        causes.iter().map(StatusCause::to_message).collect()
    }

    #[test]
    fn quantities_are_found_with_their_fields() {
        let pod = |memory: &str| {
            format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: a, image: b, \
                 resources: {{limits: {{memory: {memory}}}}}}}]}}}}"
            )
        };
        assert_eq!(
            problems(&pod("64MB")),
            [
                r#"spec.containers[0].resources.limits[memory]: Invalid value: "64MB": not a quantity; did you mean `64Mi` or `64M`?"#
            ]
        );
        assert_eq!(
            problems(&pod("1GiB")),
            [
                r#"spec.containers[0].resources.limits[memory]: Invalid value: "1GiB": not a quantity; did you mean `1Gi`?"#
            ]
        );
        for good in ["64Mi", "1", "\"1e3\"", "0.5", "100m", "1Ei"] {
            assert_eq!(problems(&pod(good)), Vec::<String>::new(), "{good}");
        }
    }

    #[test]
    fn what_a_server_validates_is_found_without_one() {
        let service =
            "{apiVersion: v1, kind: Service, metadata: {name: Web}, spec: {ports: [{port: 70000}]}}";
        let found = problems(service).join("\n");
        assert!(found.contains("metadata.name: Invalid value: \"Web\""), "{found}");
        assert!(found.contains("spec.ports[0].port: Invalid value: 70000"), "{found}");
        // What is allocated, defaulted or referred to is no problem.
        for good in [
            "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, ports: [{port: 80}]}}",
            "{apiVersion: v1, kind: Secret, metadata: {generateName: a-}, stringData: {a: b}}",
            "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {serviceAccountName: x, priorityClassName: high, containers: [{name: a, image: b}]}}",
            "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}",
            "{apiVersion: example.com/v1, kind: Own, metadata: {name: A_B}}",
        ] {
            assert_eq!(problems(good), Vec::<String>::new(), "{good}");
        }
    }
}
