//! One voice: every command of the reference on broken and on missing input, and the form of what is printed.

use crate::support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

/// A terminal of 80 columns, and a proxy that refuses connections: nothing leaves this machine.
const OFFLINE: &[(&str, &str)] = &[
    ("COLUMNS", "80"),
    ("NO_COLOR", "1"),
    ("HTTPS_PROXY", "http://127.0.0.1:1"),
    ("HTTP_PROXY", "http://127.0.0.1:1"),
];

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
    // Some commands answer by it, and print what they found.
    let is_answer = count == 0 && shown.contains("--- stdout\n");
    if failed && shown.starts_with("exit 2\n") && count != 1 && !is_answer {
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

/// Nouns that are counted.
const NOUNS: &[&str] = &[
    "chart",
    "change",
    "container",
    "error",
    "event",
    "file",
    "finding",
    "hook",
    "image",
    "line",
    "object",
    "place",
    "plugin",
    "problem",
    "release",
    "repository",
    "request",
    "revision",
    "suite",
    "template",
    "test",
    "value",
    "version",
    "warning",
];

/// `1 objects`, `2 object`.
fn disagreements(shown: &str) -> Vec<String> {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let is_wrong = |pair: &&[&str]| {
        let (number, word) =
            (pair[0].trim_start_matches('('), pair[1].trim_end_matches([',', ';', '.', ':', ')']));
        let Ok(number) = number.parse::<u64>() else { return false };
        let is_plural =
            |noun: &&str| word == format!("{noun}s") || (noun.ends_with('y') && word == "repositories");
        match number {
            1 => NOUNS.iter().any(is_plural),
            _ => NOUNS.contains(&word),
        }
    };
    words.windows(2).filter(is_wrong).map(|pair| pair.join(" ")).collect()
}

/// Rows of tables that are wider than the terminal. A table has a line of headings in capitals.
fn wide_rows(shown: &str) -> Vec<&str> {
    let is_heading = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() > 1
            && words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'/'))
    };
    let mut wide = Vec::new();
    let mut inside = false;
    for line in shown.lines() {
        inside = is_heading(line) || (inside && !line.trim().is_empty());
        if inside && line.chars().count() > 80 {
            wide.push(line);
        }
    }
    wide
}

/// An API server, a chart, an installed release, values, manifests, a repository and a plan, by names that commands are
/// called with.
fn furnished() -> TestEnv {
    let env = TestEnv::new();
    env.pintle("create web");
    env.write("values.yaml", "replicaCount: 2\n");
    env.write("object.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n");
    env.write("releases.yaml", "releases:\n- {name: demo, chart: ./web}\n- {name: other, chart: ./web}\n");
    for line in [
        "package web",
        "repo index .",
        "install demo ./web --cluster embedded:state.db",
        "upgrade demo ./web -f values.yaml --cluster embedded:state.db",
    ] {
        let shown = env.pintle(line);
        assert!(shown.starts_with("exit 0\n"), "{line}: {shown}");
    }
    env
}

#[test]
fn good_input_is_answered_in_the_same_voice() {
    // Commands that change what is there get a copy of it.
    let furnished = furnished();
    let mut wrong = Vec::new();
    let mut good = 0;
    for command in &commands() {
        let env = TestEnv::new();
        crate::support::copy(furnished.path(), env.path());
        let has_cluster = !["ct", "cm-push"].iter().any(|name| command.starts_with(name));
        let cluster = if has_cluster { "--cluster embedded:state.db" } else { "" };
        for operands in ["", "demo", "./web", "demo ./web", "demo 1", "releases.yaml", "./web -f values.yaml"]
        {
            let line = format!("{command} {operands} {cluster}");
            let line = line.trim_end().replace("  ", " ");
            let shown = env.called("pintle", &line, OFFLINE);
            good += usize::from(shown.starts_with("exit 0\n"));
            wrong.extend(faults(&line, &shown));
            wrong.extend(
                disagreements(&shown).into_iter().map(|what| format!("`{line}` prints `{what}`:\n{shown}")),
            );
            wrong
                .extend(wide_rows(&shown).into_iter().map(|row| format!("`{line}` is wider than 80: {row}")));
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
    // Each is one that could have faults.
    assert!(good > 80, "{good} good answers");
}

#[test]
fn faults_of_the_voice_are_found() {
    assert_eq!(disagreements("has 1 objects, 2 charts and (1 files)"), ["1 objects,", "(1 files)"]);
    assert_eq!(disagreements("2 object of 1 chart"), ["2 object"]);
    let row = "x".repeat(81);
    assert_eq!(wide_rows(&format!("NAME  VALUE\n{row}\n\n{row}\n")), [row.as_str()]);
    assert_eq!(faults("x", "exit 0\n--- stderr\nwarning: warning: Some(1)\n").len(), 2);
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
            let shown = env.called("pintle", line.trim_end(), OFFLINE);
            wrong.extend(faults(&line, &shown));
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}
