//! The page of the fields of a HelmRequest, from its CRD.

use std::fs;

use anyhow::{Context as _, Result};
use pintle_tree::Node;

use crate::shell::root;

/// The page.
pub(super) fn page() -> Result<String> {
    let path = root().join("deploy/crds/helm-request.yaml");
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let definition =
        pintle_yaml::read(&text).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let version = definition
        .get("spec")
        .and_then(|spec| spec.get("versions")?.as_list()?.first())
        .context("the CRD has no version")?;
    let fields = version
        .get("schema")
        .and_then(|schema| schema.get("openAPIV3Schema")?.get("properties"))
        .context("the CRD has no schema")?;
    let mut page = String::from(
        "# Fields of a HelmRequest\n\n`apiVersion: helm.sh/v3`, `kind: HelmRequest`. [The controller](../guide/controller.md) has examples. A field \
         with `[]` is a list. Required fields are marked with \\*.\n",
    );
    for part in ["spec", "status"] {
        let schema = fields.get(part).with_context(|| format!("the CRD has no {part}"))?;
        let about = text_of(schema, "description");
        page.push_str(&format!(
            "\n## {part}\n\n{about}\n\n| field | type | default | meaning |\n|---|---|---|---|\n"
        ));
        rows(&mut page, schema, "");
        rules(&mut page, schema, part);
    }
    Ok(page)
}

/// The rows of the fields below a schema.
fn rows(page: &mut String, schema: &Node, prefix: &str) {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Node::as_list)
        .into_iter()
        .flatten()
        .filter_map(Node::as_str)
        .collect();
    let Some(fields) = schema.get("properties").and_then(Node::as_map) else { return };
    for (name, field) in fields.iter() {
        let name = name.to_string();
        let items = field.get("items");
        let path = format!("{prefix}{name}{}", if items.is_some() { "[]" } else { "" });
        let star = if required.contains(&name.as_str()) { "\\*" } else { "" };
        let default = field.get("default").map(scalar).filter(|text| !text.is_empty());
        let default = default.map(|text| format!("`{text}`")).unwrap_or_default();
        let about = text_of(field, "description").replace('|', "\\|");
        page.push_str(&format!("| `{path}`{star} | {} | {default} | {about} |\n", kind(field)));
        let below = items.unwrap_or(field);
        rows(page, below, &format!("{path}."));
    }
}

/// The rules that connect several fields, as the API server reports them.
fn rules(page: &mut String, schema: &Node, path: &str) {
    for rule in schema.get("x-kubernetes-validations").and_then(Node::as_list).into_iter().flatten() {
        page.push_str(&format!("\nIn `{path}`: {}.\n", text_of(rule, "message")));
    }
    for (name, field) in
        schema.get("properties").and_then(Node::as_map).into_iter().flat_map(|map| map.iter())
    {
        rules(page, field.get("items").unwrap_or(field), &format!("{path}.{name}"));
    }
}

fn kind(field: &Node) -> String {
    let of = |schema: &Node| {
        let words: Vec<String> = schema
            .get("enum")
            .and_then(Node::as_list)
            .into_iter()
            .flatten()
            .map(|one| format!("`{}`", scalar(one)))
            .collect();
        match (words.is_empty(), text_of(schema, "type").as_str()) {
            (false, _) => words.join(", "),
            (true, "object") if schema.get("additionalProperties").is_some() => "map of strings".to_owned(),
            (true, kind) => kind.to_owned(),
        }
    };
    match field.get("items") {
        Some(items) if text_of(items, "type") == "object" => "list".to_owned(),
        Some(items) => format!("list of {}", of(items)),
        None => of(field),
    }
}

fn text_of(node: &Node, key: &str) -> String {
    node.get(key).and_then(Node::as_str).unwrap_or_default().to_owned()
}

fn scalar(node: &Node) -> String {
    match node.as_str() {
        Some(text) => text.to_owned(),
        None => pintle_tree::json::write(node)
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_fields_lists_enums_and_rules_are_on_the_page() {
        let page = page().expect("the CRD is read");
        assert!(page.contains("| `chart`\\* | object |  | Where the chart comes from. |\n"), "{page}");
        assert!(page.contains("| `valuesFrom[].kind`\\* | `ConfigMap`, `Secret`, `URL` |"), "{page}");
        assert!(page.contains("| `interval` | string | `10m` |"));
        assert!(page.contains("In `spec.chart`: exactly one of repository, url and archive must be set."));
        let described =
            page.lines().filter(|line| line.starts_with("| `")).all(|line| !line.ends_with("|  |"));
        assert!(described, "every field says what it means");
    }
}
