//! Templates that would run forever or exhaust memory end in an error, quickly, and on the small stack of a thread.

#![allow(clippy::disallowed_methods, reason = "only the clock shows that a run ends soon")]

use std::thread;
use std::time::{Duration, Instant};

use pintle_chart::{File, load_files};
use pintle_render::{Capabilities, Limits, Release, Target, render};
use pintle_tree::{Map, Node};

/// The default stack size of a thread.
const STACK: usize = 2 << 20;

/// The watchdog timeout. Runs are ended by their limits; this is far more than that takes on a busy machine.
const WATCHDOG: Duration = Duration::from_secs(600);

/// Small, so that the tests are fast without optimization.
const LIMITS: Limits = Limits { steps: 300_000, output_bytes: 4 << 20, depth: 10_000 };

fn on_a_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::Builder::new().stack_size(STACK).spawn(run);
    thread.expect("a thread can be started").join().expect("the thread ends well")
}

/// Renders one template. Returns the text or the error.
fn outcome(template: &str, limits: Limits) -> Result<String, String> {
    let template = template.to_owned();
    on_a_small_stack(move || {
        let files = vec![
            File::new("Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
            File::new("templates/a.yaml", template.into_bytes()),
        ];
        let chart = load_files(files).map_err(|error| error.to_string())?;
        let release =
            Release { name: "r".into(), namespace: "default".into(), revision: 1, is_upgrade: false };
        let mut target = Target::offline(release, Capabilities::default());
        target.limits = limits;
        let mut values = Map::new();
        values.insert("self".into(), Node::from("{{ tpl .Values.self . }}"));
        values.insert("other".into(), Node::from("{{ include \"t\" . }}"));
        let rendered = render(&chart, &values, &target).map_err(|error| error.to_string())?;
        let text = rendered.files.into_iter().next().map(|file| file.text).unwrap_or_default();
        Ok(String::from_utf8_lossy(&text).into_owned())
    })
}

/// Asserts that each template fails with the text.
fn all_fail(templates: &[&str], text: &str) {
    for template in templates {
        let start = Instant::now();
        let shown: String = template.chars().take(100).collect();
        let error = outcome(template, LIMITS).expect_err(&shown);
        let end: String = error.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect();
        assert!(error.contains(text), "{shown}: …{end}");
        assert!(start.elapsed() < WATCHDOG, "{shown} took {:?}", start.elapsed());
    }
}

#[test]
fn endless_loops_use_up_their_steps() {
    all_fail(
        &[
            "{{ range 1000000000 }}{{ end }}",
            "{{ range 1000000000 }}{{ continue }}{{ end }}",
            "{{ range 1000000 }}{{ range 1000000 }}{{ end }}{{ end }}",
            "{{ range 1000000000 }}{{ $x := printf \"%d %s %v %q %5.2f\" 1 \"a\" \"b\" \"c\" 1.5 }}{{ end }}",
            "{{ range 1000000000 }}{{ $x := and 1 2 (or 0 1) (not 1) }}{{ end }}",
            "{{ range 1000000000 }}{{ $x := tpl \"{{ 1 }}\" $ }}{{ end }}",
            "{{ define \"q\" }}{{ end }}{{ range 1000000000 }}{{ template \"q\" }}{{ end }}",
            "{{ range 1000000000 }}{{ $x := genPrivateKey \"ed25519\" }}{{ end }}",
            "{{ range 1000000000 }}{{ $x := bcrypt \"a\" }}{{ end }}",
        ],
        "render limit reached: more than 300000 steps",
    );
}

#[test]
fn long_arguments_cost_steps() {
    all_fail(
        &[
            "{{ $x := repeat 1000000 \"x\" }}{{ range 1000000 }}{{ $y := contains \"y\" $x }}{{ end }}",
            "{{ $x := repeat 1000000 \"x\" }}{{ range 1000000 }}{{ $y := sha256sum $x }}{{ end }}",
            "{{ $x := repeat 1000000 \"x\" }}{{ range 1000000 }}{{ $y := eq $x \"y\" }}{{ end }}",
        ],
        "render limit reached: more than 300000 steps",
    );
}

#[test]
fn texts_that_grow_are_stopped() {
    all_fail(
        &[
            "{{ range 1000 }}{{ repeat 100000 \"x\" }}{{ end }}",
            "{{ $x := \"ab\" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}",
            "{{ $x := \"ab\" }}{{ range 100 }}{{ $x = tpl \"{{ .x }}{{ .x }}\" (dict \"x\" $x) }}{{ end }}",
            "{{ $x := list \"a\" }}{{ range 100 }}{{ $x = concat $x $x }}{{ end }}",
            "{{ range 1000 }}{{ $y := printf \"%999999d\" 1 }}{{ end }}",
        ],
        "render limit reached: ",
    );
    all_fail(
        &[
            "{{ repeat 1000000000 \"x\" }}",
            "{{ indent 1000000000 \"x\" }}",
            "{{ nindent 1000000000 \"x\" }}",
            "{{ until 1000000000 }}",
            "{{ untilStep 0 1000000000 1 }}",
            "{{ seq 1000000000 }}",
            "{{ randAlphaNum 1000000000 }}",
        ],
        "is larger than 64 MiB",
    );
}

#[test]
fn endless_recursion_ends_in_an_error() {
    all_fail(
        &[
            "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}",
            "{{ define \"a\" }}{{ include \"b\" . }}{{ end }}{{ define \"b\" }}{{ include \"a\" . }}{{ end }}\
             {{ include \"a\" . }}",
            "{{ define \"t\" }}{{ tpl .Values.other . }}{{ end }}{{ include \"t\" (dict \"Values\" .Values) }}",
        ],
        "rendering template has a nested reference name",
    );
    all_fail(
        &[
            "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
            "{{ define \"a\" }}{{ template \"b\" }}{{ end }}{{ define \"b\" }}{{ template \"a\" }}{{ end }}\
             {{ template \"a\" }}",
            "{{ template \"web/templates/a.yaml\" . }}",
        ],
        "exceeded maximum template depth (100000)",
    );
    let blocks = ["{{ define \"a\" }}", &"{{ with . }}".repeat(200), "{{ template \"a\" . }}"].concat();
    let blocks = [&blocks, &*"{{ end }}".repeat(201), "{{ template \"a\" . }}"].concat();
    let error = outcome(&blocks, Limits { steps: 50_000_000, ..LIMITS }).unwrap_err();
    assert!(error.contains("exceeded maximum template depth (100000)"));
    all_fail(
        &["{{ tpl .Values.self (dict \"Values\" .Values) }}"],
        "render limit reached: more than 1100 calls of tpl inside each other",
    );
}

#[test]
fn deep_nesting_needs_no_stack() {
    let blocks = ["{{ if true }}".repeat(50_000), "{{ end }}".repeat(50_000)].concat();
    assert_eq!(outcome(&blocks, LIMITS).as_deref(), Ok(""));
    let blocks = ["{{ if true }}".repeat(100_001), "{{ end }}".repeat(100_001)].concat();
    assert!(outcome(&blocks, LIMITS).is_err());
    let parens = ["{{ ", &"(".repeat(5_000), "1", &")".repeat(5_000), " }}"].concat();
    assert_eq!(outcome(&parens, LIMITS).as_deref(), Ok("1"));
    let parens = ["{{ ", &"(".repeat(100_000), "1", &")".repeat(100_000), " }}"].concat();
    assert!(outcome(&parens, LIMITS).is_err());
    let built = "{{ $a := dict }}{{ range 9000 }}{{ $a = dict \"a\" $a }}{{ end }}";
    for used in
        ["{{ toJson $a | len }}", "{{ deepCopy $a | len }}", "{{ deepEqual $a $a }}", "{{ print $a | len }}"]
    {
        let result = outcome(&[built, used].concat(), LIMITS);
        assert!(result.is_ok(), "{used}: {result:?}");
    }
}

#[test]
fn maps_that_hold_themselves_are_used_without_end_by_nobody() {
    let built = "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}";
    for used in
        ["toYaml $d", "toJson $d", "toToml $d", "print $d", "deepCopy $d | len", "merge (dict) $d | len"]
    {
        let template = [built, "{{ ", used, " }}"].concat();
        let start = Instant::now();
        // An error or a truncated text: both are fine, as long as it terminates.
        if let Ok(text) = outcome(&template, LIMITS) {
            assert!(text.len() < 4 << 20, "{used}");
        }
        assert!(start.elapsed() < WATCHDOG, "{used} took {:?}", start.elapsed());
    }
}

#[test]
fn formats_are_read_once() {
    let template = "{{ printf (repeat 50000 \"%d%[\") 1 | len }}{{ printf (repeat 50000 \"%9d\") 1 | len }}";
    let start = Instant::now();
    assert!(outcome(template, LIMITS).is_ok());
    assert!(start.elapsed() < WATCHDOG);
}
