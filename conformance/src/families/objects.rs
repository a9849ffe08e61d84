//! Splitting manifests, parsing object heads and hooks, and the install order.

use pintle_objects::{Order, Sorted, sort, split};
use serde_json::{Value, json};

use crate::case::Case;
use crate::report::first_difference;

pub(super) fn check(case: &Case) -> Option<String> {
    let got = match case.input.get("split").and_then(Value::as_str) {
        Some(text) => json!({"ok": split(text.as_bytes()).map(text_of).collect::<Vec<_>>()}),
        None => sorted(case),
    };
    let (want, got) = (case.output.to_string(), got.to_string());
    (want != got).then(|| first_difference(want.as_bytes(), got.as_bytes()))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sorted(case: &Case) -> Value {
    let order = if case.text("order") == "uninstall" { Order::Uninstall } else { Order::Install };
    let files = case.files("files");
    let (mut answer, log) = match sort(&files, order) {
        Ok(sorted) => (json!({"ok": describe(&sorted)}), sorted.log),
        Err(error) => {
            let pintle_objects::Error::Document { log, .. } = &error else {
                return json!({"err": error.to_string()});
            };
            (json!({"err": error.to_string()}), log.clone())
        }
    };
    if !log.is_empty() {
        answer["log"] = log.iter().map(ToString::to_string).collect::<Vec<_>>().into();
    }
    answer
}

fn describe(sorted: &Sorted<'_>) -> Value {
    let manifests: Vec<Value> = sorted
        .manifests
        .iter()
        .map(|manifest| {
            let mut entry = json!({
                "path": manifest.path,
                "content": text_of(manifest.content),
                "apiVersion": manifest.head.api_version.to_string(),
                "kind": manifest.head.kind.to_string(),
            });
            if let Some(metadata) = &manifest.head.metadata {
                entry["name"] = metadata.name.to_string().into();
                if !metadata.annotations.is_empty() {
                    let annotations = metadata.annotations.iter();
                    entry["annotations"] = annotations
                        .map(|(name, text)| (name.to_string(), Value::from(text.to_string())))
                        .collect();
                }
            }
            entry
        })
        .collect();
    let hooks: Vec<Value> = sorted
        .hooks
        .iter()
        .map(|hook| {
            json!({
                "name": hook.name.to_string(),
                "kind": hook.kind.to_string(),
                "path": hook.path,
                "manifest": text_of(hook.manifest),
                "events": hook.events.iter().map(|event| event.as_str()).collect::<Vec<_>>(),
                "weight": hook.weight,
                "delete_policies": hook.delete_policies.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "output_log_policies": hook.output_log_policies.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({"manifests": manifests, "hooks": hooks})
}
