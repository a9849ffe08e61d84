//! Reading indexes and their index caches.

use std::fs;
use std::path::Path;

use pintle_repo::Cached;

fn error(text: &str) -> String {
    Cached::parse(text.as_bytes()).map(|_| ()).expect_err("no index").to_string()
}

#[test]
fn what_is_no_index_is_refused_in_helms_words() {
    let front = "error unmarshaling JSON: while decoding JSON: ";
    assert_eq!(error(""), "empty index.yaml file");
    assert_eq!(error("entries: {}\n"), "no API version specified");
    assert_eq!(error("apiVersion: v1\nfoo: 1\n"), format!("{front}json: unknown field \"foo\""));
    assert_eq!(
        error("apiVersion: v1\nentries:\n  a:\n  - {name: a, version: 1.0.0, bogus: 1}\n"),
        format!("{front}json: unknown field \"bogus\"")
    );
    assert_eq!(
        error("apiVersion: v1\napiVersion: v1\n"),
        "error converting YAML to JSON: yaml: unmarshal errors:\n  line 2: key \"apiVersion\" already set in map"
    );
    assert!(error("<html>\n<body>: x: y</body>").contains("yaml"));
}

#[test]
fn json_takes_unknown_fields_and_no_numbers_for_text() {
    let text = r#"{"apiVersion":"v1","foo":1,"entries":{"a":[{"name":"a","version":"1.0.0","bogus":[1]}]}}"#;
    let index = Cached::parse(text.as_bytes()).expect("an index");
    assert_eq!(index.get("a", "").expect("it is there").version, "1.0.0");
    assert_eq!(
        error(r#"{"apiVersion":"v1","entries":{"a":[{"name":"a","version":1}]}}"#),
        "json: cannot unmarshal number into Go struct field IndexFile.entries.a.0.version of type string"
    );
    // Text that only begins as JSON does is YAML.
    let text = "{apiVersion: 1, entries: {a: [{name: a, version: 1.1.0, digest: 5}]}}";
    assert_eq!(
        Cached::parse(text.as_bytes()).expect("an index").get("a", "").expect("it").detail.digest,
        "5"
    );
}

#[test]
fn entries_that_are_wrong_by_themselves_are_left_out_and_told() {
    let text = "apiVersion: v1\nentries:\n  a:\n  - null\n  - {name: a, version: x}\n  - {name: a, version: 1.0.0}\n  \
                - {name: a, version: 0.9.0, dependencies: [{name: b}, {name: b}]}\n  b:\n";
    let index = Cached::parse(text.as_bytes()).expect("an index");
    let error: Vec<String> =
        index.skipped.iter().map(|skipped| skipped.log_line("SRC").to_string()).collect();
    assert_eq!(
        error,
        [
            "level=WARN msg=\"skipping loading invalid entry for chart\" name=a version=x source=SRC \
             error=\"validation: chart.metadata.version \\\"x\\\" is invalid\"",
            "level=WARN msg=\"skipping loading invalid entry for chart: empty entry\" name=a source=SRC",
        ]
    );
    let versions: Vec<&str> =
        index.catalog.charts[0].versions.iter().map(|head| head.version.as_str()).collect();
    assert_eq!(versions, ["1.0.0", "0.9.0"]);
    assert_eq!(index.get("b", ""), Err("no chart version found".to_owned()));
    assert_eq!(index.get("c", ""), Err("no chart name found".to_owned()));
}

const TEXT: &str = "apiVersion: v1\nentries:\n  a:\n  - name: a\n    version: 1.0.0\n    description: first words\n    \
                    urls: [a-1.0.0.tgz]\n    digest: d1\n  - name: a\n    version: 1.1.0\n    urls: [a-1.1.0.tgz]\n";

fn urls(path: &Path, version: &str) -> Vec<String> {
    Cached::open(path).expect("an index").get("a", version).expect("it is there").detail.urls
}

#[test]
fn the_side_file_says_the_same_as_the_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r-index.yaml");
    fs::write(&path, TEXT).expect("it is written");
    let first = Cached::open(&path).expect("an index");
    let side = folder.path().join("r-index.pintle");
    assert!(side.exists());
    let second = Cached::open(&path).expect("an index");
    assert_eq!(first.get("a", "1.0.0"), second.get("a", "1.0.0"));
    assert_eq!(first.catalog.texts, second.catalog.texts);
    assert!(first.lists("a-1.0.0.tgz") && second.lists("a-1.0.0.tgz") && !second.lists("a-2.tgz"));
}

#[test]
fn a_side_file_that_is_stale_or_damaged_is_made_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r-index.yaml");
    let side = folder.path().join("r-index.pintle");
    fs::write(&path, TEXT).expect("it is written");
    assert_eq!(urls(&path, "1.0.0"), ["a-1.0.0.tgz"]);
    let good = fs::read(&side).expect("it is there");
    // Another index of the same size.
    fs::write(folder.path().join("new"), TEXT.replace("a-1.0.0.tgz", "b-1.0.0.tgz")).expect("it is written");
    fs::rename(folder.path().join("new"), &path).expect("it is moved");
    assert_eq!(urls(&path, "1.0.0"), ["b-1.0.0.tgz"]);
    fs::write(&side, &good).expect("it is written");
    assert_eq!(urls(&path, "1.0.0"), ["b-1.0.0.tgz"], "an index cache of another index");
    let good = fs::read(&side).expect("it is there");
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        fs::write(&side, &bad).expect("it is written");
        assert_eq!(urls(&path, "1.0.0"), ["b-1.0.0.tgz"], "byte {at}");
        fs::write(&side, &bad[..at]).expect("it is written");
        assert_eq!(urls(&path, "1.0.0"), ["b-1.0.0.tgz"], "cut at {at}");
    }
}

#[test]
fn the_same_bytes_with_another_time_need_not_be_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r-index.yaml");
    let side = folder.path().join("r-index.pintle");
    fs::write(&path, TEXT).expect("it is written");
    urls(&path, "");
    let before = fs::read(&side).expect("it is there");
    fs::write(folder.path().join("copy"), TEXT).expect("it is written");
    fs::rename(folder.path().join("copy"), &path).expect("it is moved");
    assert_eq!(urls(&path, ""), ["a-1.1.0.tgz"]);
    let after = fs::read(&side).expect("it is there");
    assert_eq!(before.len(), after.len());
    assert_ne!(before, after, "it has the new time");
    assert_eq!(urls(&path, ""), ["a-1.1.0.tgz"]);
    assert_eq!(fs::read(&side).expect("it is there"), after, "and is good for the next time");
}

#[test]
fn ten_thousand_versions_of_a_chart_are_sorted_and_chosen_from() {
    let mut text = String::from("apiVersion: v1\nentries:\n  a:\n");
    for number in 0..10_000 {
        // Not in order: 7919 has no divisor in common with 10000.
        let version = number * 7919 % 10_000;
        text.push_str(&format!("  - name: a\n    version: 1.{version}.0\n    urls: [a-{version}.tgz]\n"));
    }
    let index = Cached::parse(text.as_bytes()).expect("an index");
    assert_eq!(index.get("a", "").expect("the newest").version, "1.9999.0");
    assert_eq!(index.get("a", "<1.42").expect("an older one").detail.urls, ["a-41.tgz"]);
}

#[test]
fn odd_yaml_reads_as_plain_yaml_does() {
    // Anchors, tags and brackets over several lines are for the faithful reader.
    let odd = "apiVersion: &v v1\nentries:\n  a:\n  - {name: a, version: !!str 1.0.0,\n     urls: &urls [a.tgz]}\n  - name: a\n    \
               version: 2.0.0\n    urls: *urls\n";
    let index = Cached::parse(odd.as_bytes()).expect("an index");
    let versions: Vec<&str> =
        index.catalog.charts[0].versions.iter().map(|head| head.version.as_str()).collect();
    assert_eq!(versions, ["2.0.0", "1.0.0"]);
    assert_eq!(index.get("a", "").expect("it is there").detail.urls, ["a.tgz"]);
    // As in Helm, a key that a merge (`<<`) provides must not be set again.
    let merged =
        "apiVersion: v1\nentries:\n  a:\n  - &a {name: a, version: 1.0.0}\n  - <<: *a\n    version: 2.0.0\n";
    assert!(error(merged).ends_with("line 6: key \"version\" already set in map"), "{}", error(merged));
}
