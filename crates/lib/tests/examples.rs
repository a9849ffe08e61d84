//! Runs the examples of handlers: those of a program, and those of a chart's scripts.

use std::path::{Path, PathBuf};

#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/events.rs"]
mod events;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/scripts.rs"]
mod scripts;

fn examples(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

#[tokio::test]
async fn handlers_of_a_program_set_values_refuse_and_label() {
    let text = events::rendered(examples("charts/web"), 4).await.expect("it renders");
    assert!(text.contains("replicas: 4\n"), "{text}");
    let (objects, labels) =
        (text.matches("\nkind: ").count(), text.matches("example.com/team: blue").count());
    assert!(objects > 1 && labels == objects, "{labels} of {objects}:\n{text}");
    let refused = events::rendered(examples("charts/web"), 6).await.expect_err("too many").to_string();
    assert!(refused.contains("6 replicas are more than 5"), "{refused}");
}

#[tokio::test]
async fn scripts_of_a_chart_run_beside_handlers_of_a_program() {
    let text = scripts::rendered(examples("scripts/labels")).await.expect("it renders");
    let notes: Vec<&str> = text.lines().take_while(|line| line.starts_with("# ")).collect();
    assert_eq!(
        notes,
        [
            "# chart labels changed objects[1].metadata.labels at post-render (ext/lua/chart.lua:3)",
            "# 1 objects after the scripts",
        ]
    );
    assert!(text.contains("example.com/team: blue"), "{text}");
    let refused =
        scripts::rendered(examples("scripts/permissions")).await.expect_err("it asks for more").to_string();
    assert!(refused.contains("asks for permissions that were not granted: filesystem, os"), "{refused}");
}
