//! One voice: every command of the reference on broken and on missing input, and the form of what is printed.

use crate::support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

/// Commands that would not end, or whose output is a protocol.
const ENDLESS: [&str; 4] = ["cluster serve", "controller run", "lsp", "ui"];

/// What never belongs into a message: labels twice, Go's and Rust's notation for nothing, and data as programs print it for
/// their developers.
const NEVER: &[&str] = &[
    "error: error:",
    "error: Error:",
    "warning: warning:",
    "warning: Warning:",
    "WARNING: WARNING",
    "<nil>",
    "%!",
    "Some(",
    "None)",
    "Ok(",
    "Err(",
    " { kind:",
    "os error",
    "panicked",
    "internal error",
];

fn commands() -> Vec<String> {
    let reference = TestEnv::new().pintle("__reference");
    let mut names = Vec::new();
    let mut name = String::new();
    for line in reference.lines() {
        if let Some(found) = line.strip_prefix("## pintle ") {
            name = found.to_owned();
        } else if line.starts_with("    pintle ") && !name.is_empty() {
            names.push(std::mem::take(&mut name));
        }
    }
    names.retain(|name| !ENDLESS.contains(&name.as_str()));
    names
}

/// What is wrong with the form of an output.
fn faults(line: &str, shown: &str) -> Vec<String> {
    let mut faults: Vec<String> = NEVER
        .iter()
        .filter(|never| shown.contains(*never))
        .map(|never| format!("`{line}` prints `{never}`:\n{shown}"))
        .collect();
    // A question that is not answered stays without a line break.
    if shown.contains("<no line break>") && !shown.contains("\nUsername: ") {
        faults.push(format!("`{line}` ends without a line break:\n{shown}"));
    }
    let failed = !shown.starts_with("exit 0\n");
    let stderr = shown.split_once("--- stderr\n").map_or("", |(_, text)| text);
    let is_message = |line: &&str| line.starts_with("error: ");
    let count = stderr.lines().filter(is_message).count();
    if failed && shown.starts_with("exit 2\n") && count != 1 {
        faults.push(format!("`{line}` prints {count} errors:\n{shown}"));
    }
    if stderr.lines().any(|line| line.starts_with("error:") && line.trim_end() == "error:") {
        faults.push(format!("`{line}` prints an empty error:\n{shown}"));
    }
    if stderr.lines().filter(is_message).any(|line| line.ends_with('.') && !line.ends_with("..")) {
        faults.push(format!("`{line}` ends an error with a full stop:\n{shown}"));
    }
    faults
}

#[test]
fn errors_of_all_commands_have_one_form() {
    let commands = commands();
    assert!(commands.len() > 100, "{}", commands.len());
    let mut wrong = Vec::new();
    for command in &commands {
        let env = TestEnv::new();
        env.write("broken/Chart.yaml", "name: [broken\n");
        let has_cluster = !["ct", "cm-push"].iter().any(|name| command.starts_with(name));
        let cluster = if has_cluster { UNREACHABLE } else { "" };
        for line in [
            format!("{command} --nonsense"),
            format!("{command} {cluster}"),
            format!("{command} ./broken {cluster}"),
            format!("{command} ./missing ./missing {cluster}"),
        ] {
            let shown = env.pintle(line.trim_end());
            wrong.extend(faults(&line, &shown));
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}
