//! `get all --template`: releases and charts have the fields and methods of Helm's Go types. The table
//! `get_template/cases.txt` was recorded from the real Helm, on the record beside it.

use crate::support::{self, TestEnv};

/// Base64, the encoding of records.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |chunk: &[u8]| -> String {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        (0..4)
            .map(|at| match at <= chunk.len() {
                true => char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]),
                false => '=',
            })
            .collect()
    };
    bytes.chunks(3).map(group).collect()
}

/// Stores a record in Helm's format.
pub(crate) fn put_record(cluster: &str, name: &str, number: u64, status: &str, record: &str) {
    let data = base64(base64(record.as_bytes()).as_bytes());
    let labels = format!(
        r#"{{"name":"{name}","owner":"helm","status":"{status}","version":"{number}","team":"red"}}"#
    );
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"Secret","type":"helm.sh/release.v1","metadata":{{"name":"sh.helm.release.v1.{name}.v{number}","labels":{labels}}},"data":{{"release":"{data}"}}}}"#
    );
    let answer = support::cluster::request(cluster, "POST /api/v1/namespaces/default/secrets", &body);
    assert!(answer.starts_with(b"HTTP/1.1 201"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn releases_and_charts_have_the_fields_and_methods_of_go() {
    let (env, cluster) = (TestEnv::new(), support::cluster::start());
    put_record(&cluster, "web", 7, "deployed", include_str!("get_template/record.json"));
    let lines: Vec<&str> = include_str!("get_template/cases.txt").lines().collect();
    assert!(lines.len() > 120, "only {} lines", lines.len());
    let mut wrong = Vec::new();
    for case in lines.chunks(2) {
        let (template, expected) = (case[0], case[1]);
        let line = format!("get all web --template '{template}' {cluster}");
        let shown = env.helm_with(&line, &[("HELM_DRIVER", "secret"), ("TZ", "UTC")]);
        let text = |text: &str| text.trim_end_matches("<no line break>\n").replace('\n', "\\n");
        let found = match shown.split_once("--- stdout\n") {
            Some((_, out)) => format!("= {}", text(out)),
            None => format!("! {}", text(shown.split_once("--- stderr\n").map_or("", |it| it.1).trim_end())),
        };
        if found != expected {
            wrong.push(format!("{template}\n  helm {expected}\n  ours {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_version_that_is_asked_for_by_its_number_has_the_labels_of_its_user_only() {
    let (env, cluster) = (TestEnv::new(), support::cluster::start());
    put_record(&cluster, "web", 7, "deployed", include_str!("get_template/record.json"));
    let line = format!("get all web --revision 7 --template {{{{.Release.Labels}}}} {cluster}");
    let shown = env.helm_with(&line, &[("HELM_DRIVER", "secret")]);
    assert!(shown.contains("--- stdout\nmap[team:red]<no line break>"), "{shown}");
}

#[test]
fn large_revisions_and_unknown_statuses_are_handled_as_helm_does() {
    let (env, cluster) = (TestEnv::new(), support::cluster::start());
    let record = |name: &str, number: u64, status: &str| {
        let record = format!(
            r#"{{"name":"{name}","info":{{"last_deployed":"2024-01-01T00:00:00Z","status":"{status}"}},"chart":{{"metadata":{{"name":"c","version":"1"}}}},"version":{number},"namespace":"default"}}"#
        );
        put_record(&cluster, name, number, status, &record);
    };
    record("large", 9_007_199_254_740_993, "deployed");
    record("odd", 1, "strange");
    let helm = |line: &str| env.helm_with(&format!("{line} {cluster}"), &[("HELM_DRIVER", "secret")]);
    let status = helm("status large");
    assert!(status.contains("\nREVISION: 9007199254740993\n"), "{status}");
    let status = helm("status odd");
    assert!(status.contains("\nSTATUS: strange\n"), "{status}");
    let listed = helm("list -q");
    assert_eq!(listed, "exit 0\n--- stdout\nlarge\n");
}
