//! Hostile and odd input ends in an error: in time, in bounded memory, and without a panic.

use crate::support;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::TestEnv;
use support::archive::{gzip, tar};

const CHART: &str = "apiVersion: v2\nname: web\nversion: 0.1.0\n";
const TEMPLATE: &[&str] = &["template", "r", "web"];

/// The timeout of a run, generous for busy machines. Runs must end earlier, by limits that their errors name.
const TIME: Duration = Duration::from_secs(300);

/// The address space that a run may use, in KiB; its stack and its libraries are part of it.
const MEMORY: &str = "1000000";

/// The result of a run.
struct Outcome {
    code: Option<i32>,
    errors: String,
}

/// Runs the program with limits on its time and memory.
fn run(env: &TestEnv, arguments: &[&str]) -> Outcome {
    let errors = env.path().join(".errors");
    let mut child = Command::new("sh")
        .args([
            "-c",
            &format!("ulimit -v {MEMORY}; ulimit -c 0; exec \"$0\" \"$@\""),
            env!("CARGO_BIN_EXE_pintle"),
        ])
        .args(arguments)
        .current_dir(env.path())
        .env_clear()
        .env("HOME", env.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&errors).expect("a file can be made"))
        .spawn()
        .expect("the program can be run");
    let code = wait(&mut child);
    let errors = fs::read(errors).expect("the file was made");
    Outcome { code, errors: String::from_utf8_lossy(&errors).into_owned() }
}

/// The exit code; `None` if the program was killed by a signal or by the timeout.
fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < TIME {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a child can be killed");
    child.wait().expect("a child can be waited for");
    None
}

/// Asserts that a run ended by itself with an error.
fn refused(env: &TestEnv, arguments: &[&str], text: &str) {
    let Outcome { code, errors } = run(env, arguments);
    let shown = format!("{:.200} gave {code:?}: {:.2000}", arguments.join(" "), errors);
    assert!(matches!(code, Some(1..=3)), "{shown}");
    assert!(!errors.contains("panicked") && !errors.contains("overflowed its stack"), "{shown}");
    assert!(!errors.trim().is_empty() && errors.contains(text), "{shown}");
}

/// Asserts that a run ended by itself, with success or an error.
fn survives(env: &TestEnv, arguments: &[&str]) {
    let Outcome { code, errors } = run(env, arguments);
    let shown = format!("{:.200} gave {code:?}: {:.2000}", arguments.join(" "), errors);
    assert!(matches!(code, Some(0..=3)), "{shown}");
    assert!(!errors.contains("panicked") && !errors.contains("overflowed its stack"), "{shown}");
}

/// A chart whose only template reads all values.
fn chart() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", CHART).write("web/templates/a.yaml", "a: {{ .Values | toYaml | len }}\n");
    env
}

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    [&open.repeat(depth), inside, &close.repeat(depth)].concat()
}

#[test]
fn values_that_nest_without_end_are_refused() {
    for text in [
        nested("[", "", "]", 100_000),
        "[".repeat(100_000),
        nested("{a: ", "", "}", 100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "a: &a [*a]\n".to_owned(),
        "a: &a {<<: *a}\n".to_owned(),
        "a: \"x\n".repeat(100_001),
    ] {
        let env = chart();
        env.write("v.yaml", &text).write("bad/Chart.yaml", CHART).write("bad/values.yaml", &text);
        refused(&env, &["template", "r", "web", "-f", "v.yaml"], "yaml");
        refused(&env, &["template", "r", "bad"], "values.yaml");
        refused(&env, &["lint", "bad"], "");
    }
}

#[test]
fn values_as_deep_as_go_reads_them_are_fine() {
    for text in
        [nested("{a: ", "", "}", 9_000), nested("a: [", "", "]", 1) + "\nb: " + &nested("[", "", "]", 9_000)]
    {
        let env = chart();
        env.write("v.yaml", &text).write("web/values.yaml", &text);
        survives(&env, &["template", "r", "web", "-f", "v.yaml", "-f", "v.yaml"]);
        survives(&env, &["lint", "web", "-f", "v.yaml"]);
    }
}

#[test]
fn aliases_that_multiply_are_refused() {
    let multiply = |item: &dyn Fn(usize) -> String| {
        (1..12).fold("a0: &a0 {x: y}\n".to_owned(), |text, level| {
            text + &format!("a{level}: &a{level} {}\n", item(level - 1))
        })
    };
    for text in [
        multiply(&|below| format!("[{}]", vec![format!("*a{below}"); 10].join(", "))),
        multiply(&|below| {
            format!("{{{}}}", (0..10).map(|key| format!("k{key}: *a{below}, ")).collect::<String>())
        }),
        format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(2_000)),
    ] {
        let env = chart();
        env.write("v.yaml", &text).write("bad/Chart.yaml", &(CHART.to_owned() + &text));
        refused(&env, &["template", "r", "web", "-f", "v.yaml"], "document contains excessive aliasing");
        refused(&env, &["show", "chart", "bad"], "excessive aliasing");
    }
}

#[test]
fn flags_that_nest_without_end_are_refused() {
    let env = chart();
    let path = format!("{}=1", vec!["a"; 30_000].join("."));
    for flag in ["--set", "--set-string", "--set-literal", "--set-json"] {
        refused(&env, &["template", "r", "web", flag, &path], "error: failed parsing --set");
    }
    let many = (0..200).map(|index| format!("a[{index}][65536]=1,")).collect::<String>();
    for (flag, value) in [
        ("--set", format!("a{}=1", "[0]".repeat(20_000))),
        ("--set", "a[65537]=1".to_owned()),
        ("--set", "a[-1]=1".to_owned()),
        ("--set", "a[99999999999999999999]=1".to_owned()),
        ("--set", many),
        ("--set-json", format!("a={}", "[".repeat(100_000))),
        ("--set-json", format!("a={}", nested("[", "", "]", 10_001))),
    ] {
        refused(&env, &["template", "r", "web", flag, &value], "error: failed parsing --set");
    }
    survives(&env, &["template", "r", "web", "--set-json", &format!("a={}", nested("[", "", "]", 9_999))]);
}

#[test]
fn files_without_end_are_refused() {
    let env = chart();
    refused(&env, &["template", "r", "web", "-f", "/dev/zero"], "larger than 256 MiB");
    refused(&env, &["template", "r", "web", "--set-file", "a=/dev/zero"], "larger than 256 MiB");
    refused(&env, &["template", "r", "/dev/zero"], "not a regular file");
    for name in
        ["Chart.yaml", "values.yaml", ".helmignore", "values.schema.json", "templates/b.yaml", "charts/b.tgz"]
    {
        for target in ["/dev/zero", "pipe", "itself", "folder"] {
            let env = chart();
            let path = env.path().join("web").join(name);
            fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
            let _ = fs::remove_file(&path);
            match target {
                "pipe" => {
                    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo is there").success())
                }
                "itself" => link(&path, &path),
                "folder" => fs::create_dir(&path).expect("folders can be made"),
                target => link(Path::new(target), &path),
            }
            for command in [TEMPLATE, &["lint", "web"], &["package", "web"], &["show", "all", "web"]] {
                // Helm ignores a directory in some of these paths.
                survives(&env, command);
            }
        }
    }
}

fn link(target: &Path, path: &Path) {
    std::os::unix::fs::symlink(target, path).expect("links can be made");
}

#[test]
fn symlink_loops_are_errors() {
    for (target, path) in
        [(".", "web/templates/b"), ("..", "web/templates/b"), ("../..", "web/charts/b"), ("/", "web/b")]
    {
        let env = chart();
        fs::create_dir_all(env.path().join("web/charts")).expect("folders can be made");
        link(Path::new(target), &env.path().join(path));
        if target == "/" {
            // Everything that the user can read would become part of the chart.
            continue;
        }
        refused(&env, TEMPLATE, "error: ");
        refused(&env, &["package", "web"], "error: ");
    }
}

#[test]
fn schemas_without_end_are_refused() {
    let env = chart();
    env.write("web/values.yaml", "a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
    for schema in [
        r##"{"$ref": "#"}"##,
        r##"{"$ref": "#/definitions/a", "definitions": {"a": {"allOf": [{"$ref": "#/definitions/a"}, {"$ref": "#/definitions/a"}]}}}"##,
        r#"{"$ref": "file:///dev/zero"}"#,
        r#"{"properties": {"a": {"pattern": "((a{1,1000}){1,1000}){1,1000}"}}}"#,
        r#"{"properties": {"a": {"pattern": "(x+x+)+y"}}}"#,
    ] {
        env.write("web/values.schema.json", schema);
        refused(&env, &["lint", "web"], "");
        survives(&env, TEMPLATE);
    }
    env.write("web/values.schema.json", &nested("{\"not\": ", "{}", "}", 100_000));
    refused(&env, TEMPLATE, "");
}

#[test]
fn invalid_utf8_is_not_fatal() {
    for bytes in [
        &b"a: \xff\xfe"[..],
        b"a: \x00",
        b"\xff\xfea",
        b"{{ \"\xff\" | toJson }}",
        b"{{ \x00 }}",
        b"\xef\xbb\xbfa: 1",
    ] {
        for name in [
            "templates/a.yaml",
            "values.yaml",
            "Chart.yaml",
            "values.schema.json",
            ".helmignore",
            "templates/NOTES.txt",
        ] {
            let env = chart();
            fs::write(env.path().join("web").join(name), bytes).expect("a file can be written");
            survives(&env, TEMPLATE);
            survives(&env, &["lint", "web"]);
        }
    }
}

#[test]
fn templates_without_end_are_refused() {
    for template in [
        nested("{{ if true }}", "", "{{ end }}", 100_001),
        format!("{{{{ {} }}}}", nested("(", "1", ")", 100_000)),
        "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}".to_owned(),
        "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}".to_owned(),
        "{{ repeat 1000000000 \"x\" }}".to_owned(),
        "{{ until 1000000000 | len }}".to_owned(),
    ] {
        let env = chart();
        env.write("web/templates/a.yaml", &template);
        refused(&env, TEMPLATE, "error: ");
        refused(&env, &["lint", "web"], "");
    }
}

/// Writes an archive with these entries after Chart.yaml.
fn pack(env: &TestEnv, entries: &[(&str, u8, &[u8])]) {
    let chart = [("web/Chart.yaml", b'0', CHART.as_bytes())];
    let packed = gzip(&tar(&[&chart, entries].concat()));
    fs::write(env.path().join("web.tgz"), packed).expect("a file can be written");
}

#[test]
fn archives_with_path_traversal_or_bombs_are_rejected() {
    let zeros = vec![0; 4 << 20];
    let many: Vec<String> = (0..30).map(|index| format!("web/{index}")).collect();
    let burst: Vec<(&str, u8, &[u8])> = many.iter().map(|name| (&**name, b'0', &zeros[..])).collect();
    for entries in [vec![("web/../../x", b'0', &b"x"[..])], burst] {
        let env = TestEnv::new();
        pack(&env, &entries);
        refused(&env, &["template", "r", "web.tgz"], "error: ");
        refused(&env, &["show", "all", "web.tgz"], "error: ");
        refused(&env, &["lint", "web.tgz"], "");
    }
    // Links and devices are skipped or refused, never followed.
    for kind in [b'1', b'2', b'3', b'6'] {
        let env = TestEnv::new();
        pack(&env, &[("web/templates/b.yaml", kind, b"")]);
        let Outcome { code, errors } = run(&env, &["template", "r", "web.tgz"]);
        assert!(matches!(code, Some(0..=3)) && !errors.contains("root:"), "{kind}: {errors}");
    }
}

#[test]
fn charts_inside_charts_without_end_are_refused() {
    let env = TestEnv::new();
    let mut path = "web".to_owned();
    for _ in 0..70 {
        env.write(&format!("{path}/Chart.yaml"), CHART);
        path += "/charts/web";
    }
    env.write(&format!("{path}/Chart.yaml"), CHART);
    refused(&env, TEMPLATE, "error: ");
}

#[test]
fn endless_input_is_read_up_to_a_limit() {
    let env = chart();
    refused(&env, &["list", "--kubeconfig", "/dev/zero"], "larger than 16 MiB");
    refused(&env, &["images", "copy", "--from-list", "/dev/zero", "oci:out"], "larger than 16 MiB");
    refused(&env, &["apply", "/dev/zero"], "larger than 256 MiB");
    refused(&env, &["plan", "releases", "/dev/zero"], "larger than 16 MiB");
    refused(&env, &["pull", "a/b", "--repository-config", "/dev/zero"], "larger than 16 MiB");
    refused(&env, &["pull", "https://127.0.0.1:1/a.tgz", "--ca-file", "/dev/zero"], "larger than 16 MiB");
    refused(&env, &["check", "web", "--config", "/dev/zero"], "larger than 16 MiB");
    refused(&env, &["verify", "/dev/zero"], "");
}

/// What is written below the folder of a chart stays there.
#[test]
fn nothing_is_written_through_links_of_a_chart() {
    use std::os::unix::fs::symlink;
    let env = TestEnv::new();
    let at = |name: &str| env.path().join(name);
    env.write("outside/file", "old\n").write("web/Chart.yaml", CHART);
    env.write("web/values.yaml", "a: 1\n").write(
        "web/templates/a.yaml",
        "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: []}\n",
    );
    let suite = "suite: s\ntests: [{it: x, asserts: [{matchSnapshot: {}}]}]\n";
    env.write("web/tests/a_test.yaml", suite);
    let untouched = |line: &[&str]| {
        let Outcome { code, errors } = run(&env, line);
        let names: Vec<_> =
            fs::read_dir(at("outside")).expect("there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["file"], "{line:?}: {errors}");
        assert_eq!(fs::read_to_string(at("outside/file")).expect("there"), "old\n", "{line:?}: {errors}");
        assert_ne!(code, Some(0), "{line:?}: {errors}");
    };
    symlink("../outside/file", at("web/README.md")).expect("linked");
    untouched(&["docs", "-c", "web"]);
    fs::remove_file(at("web/README.md")).expect("removed");
    symlink("../../outside", at("web/tests/__snapshot__")).expect("linked");
    untouched(&["unittest", "web"]);
    fs::remove_file(at("web/tests/__snapshot__")).expect("removed");
    env.write("web/tests/a_test.yaml", &format!("snapshotId: /../../../outside/x\n{suite}"));
    untouched(&["unittest", "web"]);
    env.write("sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n");
    env.write(
        "app/Chart.yaml",
        "apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies: [{name: sub, version: 0.1.0, repository: 'file://../sub'}]\n",
    );
    symlink("../outside", at("app/charts")).expect("linked");
    untouched(&["dependency", "update", "app"]);
    untouched(&["dependency", "build", "app"]);
    // The output folder is the user's, and what is in it may be anyone's.
    fs::create_dir_all(at("out/web")).expect("made");
    symlink("../../outside", at("out/web/templates")).expect("linked");
    untouched(&["template", "web", "--output-dir", "out"]);
    fs::create_dir_all(at("new")).expect("made");
    symlink("../outside/file", at("new/values.yaml")).expect("linked");
    untouched(&["create", "new"]);
    fs::create_dir_all(at("packed")).expect("made");
    symlink("../outside/file", at("packed/web-0.1.0.tgz")).expect("linked");
    untouched(&["package", "web", "-d", "packed"]);
    fs::create_dir_all(at("work")).expect("made");
    let text = fs::read_to_string(at("web/templates/a.yaml")).expect("there");
    fs::write(at("outside/file"), &text).expect("written");
    fs::remove_file(at("web/templates/a.yaml")).expect("removed");
    symlink("../../outside/file", at("web/templates/a.yaml")).expect("linked");
    run(&env, &["check", "web", "--fix"]);
    assert_eq!(fs::read_to_string(at("outside/file")).expect("there"), text);
    symlink("/tmp", at("linked")).expect("linked");
    let Outcome { code, errors } = run(&env, &["images", "list", "web", "--lock", "linked/lock.yaml"]);
    assert!(code != Some(0) && errors.contains("path traversal"), "{errors}");
}

#[test]
fn a_pipe_instead_of_an_index_does_not_hang() {
    let env = chart();
    env.write("layout/oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
    let made = Command::new("mkfifo").arg(env.path().join("layout/index.json")).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe can be made");
    refused(&env, &["images", "copy", "oci:layout", "oci:out"], "it is not a regular file");
}

#[test]
fn globs_and_schemas_of_hostile_charts_terminate() {
    let env = chart();
    for index in 0..2_000 {
        env.write(&format!("web/files/{index}"), "x");
    }
    env.write("web/templates/a.yaml", "{{ range until 1000000 }}{{ $_ := $.Files.Glob \"**\" }}{{ end }}");
    refused(&env, TEMPLATE, "render limit reached");
    env.write("web/templates/a.yaml", "");
    env.write("web/values.yaml", &format!("a: {}\n", "ab".repeat(1 << 20)));
    let schema = r#"{"properties": {"a": {"pattern": "(a|b)*a(a|b){500}c"}}}"#;
    env.write("web/values.schema.json", schema);
    refused(&env, TEMPLATE, "too complex to be checked");
}
