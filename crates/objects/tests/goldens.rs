//! Compares splitting and sorting with recorded results of Helm.

use pintle_objects::{Order, sort, split};
use serde_json::{Value, json};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sorted(input: &Value) -> Value {
    let files: Vec<(String, String)> = input["files"]
        .as_object()
        .expect("files are a map")
        .iter()
        .map(|(path, text)| (path.clone(), text.as_str().expect("texts are strings").to_owned()))
        .collect();
    let order = if input["order"] == "uninstall" { Order::Uninstall } else { Order::Install };
    let lines =
        |log: &[pintle_objects::LogLine]| json!(log.iter().map(ToString::to_string).collect::<Vec<_>>());
    let (mut out, log) = match sort(&files, order) {
        Err(error) => {
            let pintle_objects::Error::Document { log, .. } = &error else { unreachable!("the only kind") };
            (json!({"err": error.to_string()}), lines(log))
        }
        Ok(sorted) => {
            let manifests: Vec<Value> = sorted
                .manifests
                .iter()
                .map(|manifest| {
                    let mut entry = json!({
                        "path": manifest.path,
                        "content": text(manifest.content),
                        "apiVersion": manifest.head.api_version.to_string(),
                        "kind": manifest.head.kind.to_string(),
                    });
                    if let Some(metadata) = &manifest.head.metadata {
                        entry["name"] = json!(metadata.name.to_string());
                        let annotations = metadata.annotations.iter();
                        let annotations: serde_json::Map<String, Value> = annotations
                            .map(|(name, text)| (name.to_string(), json!(text.to_string())))
                            .collect();
                        if !annotations.is_empty() {
                            entry["annotations"] = Value::Object(annotations);
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
                        "manifest": text(hook.manifest),
                        "events": hook.events.iter().map(|event| event.as_str()).collect::<Vec<_>>(),
                        "weight": hook.weight,
                        "delete_policies": hook.delete_policies,
                        "output_log_policies": hook.output_log_policies,
                    })
                })
                .collect();
            (json!({"ok": {"manifests": manifests, "hooks": hooks}}), lines(&sorted.log))
        }
    };
    if log != json!([]) {
        out["log"] = log;
    }
    out
}

#[test]
fn objects_are_split_and_sorted_as_helm_does() {
    let (mut passed, mut total) = (0, 0);
    for line in pintle_testkit::recorded("objects") {
        let case: Value = serde_json::from_str(&line).expect("each line is JSON");
        let got = match case["in"]["split"].as_str() {
            Some(source) => json!({"ok": split(source.as_bytes()).map(text).collect::<Vec<_>>()}),
            None => sorted(&case["in"]),
        };
        total += 1;
        if got == case["out"] {
            passed += 1;
        } else {
            println!("{}: {}\n  want {}\n  got  {got}", case["id"], case["in"], case["out"]);
        }
    }
    println!("{passed} of {total} passed");
    assert!(passed * 1000 >= total * 995, "{passed} of {total} passed");
}
