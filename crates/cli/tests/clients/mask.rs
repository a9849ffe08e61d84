//! Masks what differs between runs and clusters.

use std::sync::LazyLock;

use pintle_regex::Regex;

/// The alphabet of generated names.
const LETTER: &str = "[bcdfghjklmnpqrstvwxz2456789]";

static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let day = "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
    let rules = [
        // client-go logs a lost watch and retries; whether that happens depends on timing.
        (r"(?m)^[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ reflector\.go:.*\n".to_owned(), ""),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".to_owned(), "UID"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4}( UTC)?)?".to_owned(), "TIME"),
        (format!(r"{day}, \d\d \w+ \d{{4}} \d\d:\d\d:\d\d [+-]\d{{4}}"), "TIME"),
        (format!(r"{day} \w+ +\d+ \d\d:\d\d:\d\d \d{{4}}"), "TIME"),
        (r"\b(10|172)\.\d+\.\d+\.\d+\b".to_owned(), "ADDRESS"),
        ("containerd://[0-9a-f]+".to_owned(), "CONTAINER"),
        ("sha256:[0-9a-f]{64}".to_owned(), "DIGEST"),
        (r#"(resourceVersion\\?"?: ?\\?"|Resource Version: +)\d+"#.to_owned(), "${1}REVISION"),
        // Before names, which numbers can look like.
        (r"modifiedAt=\d+".to_owned(), "modifiedAt=TIME"),
        (r"(LIVE|MERGED)-\d+/".to_owned(), "${1}-NUMBER/"),
        (format!(r"-{LETTER}{{6,10}}-{LETTER}{{5}}\b"), "-HASH-NAME"),
        (format!(r"([-=]){LETTER}{{8,10}}\b"), "${1}HASH"),
        (format!(r"-{LETTER}{{5}}\b"), "-NAME"),
        (r":3\d{4}/TCP".to_owned(), ":PORT/TCP"),
        (r"(NodePort:.*) 3\d{4}/TCP".to_owned(), "${1} PORT/TCP"),
        (r"\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?s\b".to_owned(), "AGE"),
        (r"([^: ]) +\d+[mhd]\n".to_owned(), "${1} AGE\n"),
        (r"[ \t]+".to_owned(), " "),
        (r" \n".to_owned(), "\n"),
        (r"( to | |Node: |nodeName: )(node1|pintle)([ /\n])".to_owned(), "${1}NODE${3}"),
    ];
    rules.map(|(rule, mark)| (Regex::compile(&rule).expect("it is a pattern"), mark)).into()
});

/// The masked text.
pub(crate) fn masked(text: &str) -> String {
    let mut text = text.as_bytes().to_vec();
    for (rule, mark) in RULES.iter() {
        text = rule.replace_all(&text, mark.as_bytes());
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn masking_keeps_the_rest() {
    let line = "web-6d4cf56db6-x7x2k   1/1  Running   0   1m5s   10.244.1.7   node1   <none>\n";
    assert_eq!(masked(line), "web-HASH-NAME 1/1 Running 0 AGE ADDRESS NODE <none>\n");
    assert_eq!(masked("cpu:     10m\n"), "cpu: 10m\n");
    let logged =
        "I1118 01:52:31.211793   25798 reflector.go:664] \"Warning: watch ended with error\"\nPOD LOGS\n";
    assert_eq!(masked(logged), "POD LOGS\n");
    assert_eq!(
        masked("/tmp/LIVE-2456789245/a /tmp/MERGED-1456/a modifiedAt=2456789245\n"),
        "/tmp/LIVE-NUMBER/a /tmp/MERGED-NUMBER/a modifiedAt=TIME\n"
    );
    assert_eq!(masked("at 2026-11-15T16:00:00Z: db-0 web-config\n"), "at TIME: db-0 web-config\n");
}
