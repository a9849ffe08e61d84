//! The documentation of the interface against its routes.

use std::collections::BTreeSet;

use serde_json::Value;

#[test]
fn every_route_is_documented_and_nothing_else() {
    let document: Value = serde_json::from_str(pintle_ui::OPENAPI).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut documented = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
        let pattern = parts.collect::<Vec<_>>().join("/");
        for (method, operation) in methods.as_object().unwrap() {
            let writes = operation["x-needs-write"].as_bool().unwrap_or(false);
            assert!(
                operation["summary"].is_string() && operation["responses"].is_object(),
                "{method} {path}"
            );
            let open = path.split('/').filter(|part| part.starts_with('{')).count();
            let parameters = operation["parameters"].as_array().map_or(0, |parameters| {
                parameters.iter().filter(|parameter| parameter["in"] == "path").count()
            });
            assert_eq!(open, parameters, "{method} {path}: the parts of the path");
            documented.insert((method.to_uppercase(), pattern.clone(), writes));
        }
    }
    let routes: BTreeSet<(String, String, bool)> = pintle_ui::routes()
        .map(|(method, path, writes)| (method.to_owned(), path.to_owned(), writes))
        .collect();
    let missing: Vec<_> = routes.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&routes).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "not documented: {missing:?}; no routes: {unknown:?}");
}

#[test]
fn the_reference_names_every_route() {
    let document: Value = serde_json::from_str(pintle_ui::OPENAPI).unwrap();
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/ui.md");
    let reference = std::fs::read_to_string(reference).unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let write = if operation["x-needs-write"] == true { "*write*" } else { "" };
            let summary = operation["summary"].as_str().unwrap();
            let row = format!("| `{} {path}` | {write} | {summary} |", method.to_uppercase());
            assert!(reference.contains(&row), "{row}");
        }
    }
}
