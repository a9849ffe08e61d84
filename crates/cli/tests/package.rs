//! `package`

use crate::support;

use insta::assert_snapshot;
use support::{TestEnv, chart};

#[test]
fn archives_are_named_after_chart_and_version() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.helm("package web"), @"
    exit 0
    --- stdout
    Successfully packaged chart and saved it to: {here}/web-0.1.0.tgz
    ");
    assert_snapshot!(env.helm("package ./web --version 2.0.0 --app-version 3 -d out"), @"
    exit 0
    --- stdout
    Successfully packaged chart and saved it to: out/web-2.0.0.tgz
    ");
    assert_snapshot!(env.helm("show chart out/web-2.0.0.tgz"), @r#"
    exit 0
    --- stdout
    apiVersion: v2
    appVersion: "3"
    description: d
    name: web
    version: 2.0.0
    "#);
}

#[test]
fn source_date_epoch_makes_archives_reproducible() {
    let env = TestEnv::new();
    chart::write(&env);
    let pack = |folder: &str| {
        env.helm_with(&format!("package web --destination {folder}"), &[("SOURCE_DATE_EPOCH", "1000000000")]);
        std::fs::read(env.path().join(folder).join("web-0.1.0.tgz")).unwrap()
    };
    let first = pack("one");
    std::fs::write(env.path().join("web/values.yaml"), "greeting: hello\nlist: [a, b]\nnested: {port: 80}\n")
        .unwrap();
    assert_eq!(first, pack("two"));
}

/// A chart with a dependency in a folder.
fn chart_with_dependency(env: &TestEnv) {
    chart::write(env);
    env
        .write("db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.2.0\n")
        .write(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: db, version: ^1.0.0, repository: 'file://../db'}\n",
        );
}

/// The files of an archive with their times.
fn times(env: &TestEnv, archive: &str) -> Vec<(String, Option<i64>, String)> {
    let data = std::fs::read(env.path().join(archive)).expect("the archive");
    let files = pintle::chart::read_archive(data).expect("an archive");
    let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
    files.iter().map(|file| (file.name.clone(), file.modified, text(&file.data))).collect()
}

#[test]
fn source_date_epoch_is_the_time_of_dependencies_and_of_the_packed_lock() {
    let env = TestEnv::new();
    chart_with_dependency(&env);
    let epoch = [("SOURCE_DATE_EPOCH", "+1700000000")];
    let packed = |archive: &str| {
        let files = times(&env, archive);
        assert!(files.iter().all(|(_, time, _)| *time == Some(1_700_000_000)), "{files:?}");
        files
    };
    assert!(env.helm_with("package web -u", &epoch).starts_with("exit 0"));
    packed("web/charts/db-1.2.0.tgz");
    let files = packed("web-0.1.0.tgz");
    let lock = &files.iter().find(|(name, _, _)| name == "Chart.lock").unwrap().2;
    assert!(lock.ends_with("generated: \"2023-11-14T22:13:20Z\"\n"), "{lock}");
    // The lock in the folder has the real time.
    let lock = std::fs::read_to_string(env.path().join("web/Chart.lock")).unwrap();
    assert!(!lock.contains("2023-11-14"), "{lock}");
    for line in ["dependency build web", "dependency update web", "template rel web --dependency-update"] {
        std::fs::remove_dir_all(env.path().join("web/charts")).unwrap();
        let shown = env.helm_with(line, &epoch);
        assert!(shown.starts_with("exit 0"), "{line}: {shown}");
        packed("web/charts/db-1.2.0.tgz");
    }
    let shown = env.helm_with("package web", &[("SOURCE_DATE_EPOCH", "9223372036854775807")]);
    assert_eq!(
        shown,
        "exit 1\n--- stderr\nError: failed to save: error marshaling into JSON: json: error calling MarshalJSON for \
         type *time.Time: year outside of range [0,9999]\n"
    );
}

#[test]
fn a_bad_source_date_epoch_is_an_error_where_archives_are_made_or_could_be() {
    let env = TestEnv::new();
    chart_with_dependency(&env);
    let run = |line: &str, epoch: &str| env.helm_with(line, &[("SOURCE_DATE_EPOCH", epoch)]);
    for (epoch, reason) in [
        ("abc", "strconv.ParseInt: parsing \"abc\": invalid syntax"),
        (" 5", "strconv.ParseInt: parsing \" 5\": invalid syntax"),
        ("1.5", "strconv.ParseInt: parsing \"1.5\": invalid syntax"),
        ("9223372036854775808", "strconv.ParseInt: parsing \"9223372036854775808\": value out of range"),
        ("-5", "must not be negative"),
    ] {
        let error = format!("exit 1\n--- stderr\nError: invalid SOURCE_DATE_EPOCH: {reason}\n");
        assert_eq!(run("package web", epoch), error);
    }
    let reason = "invalid SOURCE_DATE_EPOCH: must not be negative\n";
    for line in ["dependency update web", "dependency build web", "template rel web"] {
        assert_eq!(run(line, "-1"), format!("exit 1\n--- stderr\nError: {reason}"), "{line}");
    }
    assert_eq!(
        run("install rel web --dry-run=client", "-1"),
        format!("exit 1\n--- stderr\nError: INSTALLATION FAILED: {reason}")
    );
    // An empty one has no effect, and neither has a bad one on what makes no archives.
    assert!(run("package web -u", "").starts_with("exit 0"));
    for line in ["template rel db", "lint web", "dependency list web", "show chart web"] {
        assert!(run(line, "abc").starts_with("exit 0"), "{line}");
    }
}

#[test]
fn dependencies_are_fetched_on_demand() {
    let env = TestEnv::new();
    chart_with_dependency(&env);
    assert_snapshot!(env.helm("package web"), @"
    exit 1
    --- stderr
    Error: found in Chart.yaml, but missing in charts/ directory: db
    ");
    assert_snapshot!(env.helm("package web -u"), @"
    exit 0
    --- stdout
    Successfully packaged chart and saved it to: {here}/web-0.1.0.tgz
    ");
}

#[test]
fn invalid_charts_are_not_packaged() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.helm("package"), @"
    exit 1
    --- stderr
    Error: need at least one argument, the path to the chart
    ");
    assert_snapshot!(env.helm("package nowhere"), @"
    exit 1
    --- stderr
    Error: stat nowhere: no such file or directory
    ");
    assert_snapshot!(env.helm("package web --version x"), @"
    exit 1
    --- stderr
    Error: invalid semantic version
    ");
    assert_snapshot!(env.pintle("package web --sign --key k --keyring r --passphrase-file p"), @"
    exit 2
    --- stderr
    error: open r: no such file or directory
    ");
}

#[test]
fn only_folders_are_packed() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.helm("package web");
    let path = "{here}/web-1.0.0.tgz/Chart.yaml";
    for line in ["package web-1.0.0.tgz -d out", "package web-1.0.0.tgz --version 2.0.0"] {
        let refused = format!(
            "exit 1\n--- stderr\nError: unable to detect chart at {path}: open {path}: not a directory\n"
        );
        assert_eq!(env.helm(line), refused);
    }
    assert!(!env.path().join("out").exists());
}

/// Simulates a full disk with a file size limit of 64 KiB.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_archive_and_nothing_else() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.helm("package web -d out");
    let old = std::fs::read(env.path().join("out/web-1.0.0.tgz")).expect("was packed");
    // Random data, which does not compress.
    let mut state = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from(state >> 58).expect("six bits"))
    })
    .take(300_000)
    .collect();
    env.write("web/noise", &noise);
    let script = "ulimit -f 64; trap '' XFSZ; exec \"$0\" package web -d out";
    let ran = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(env.linked("helm"))
        .current_dir(env.path())
        .output()
        .expect("a shell can be run");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success(), "{stderr}");
    assert!(stderr.starts_with("Error: failed to save: write out/web-1.0.0.tgz: file too large"), "{stderr}");
    let names: Vec<_> = std::fs::read_dir(env.path().join("out"))
        .expect("is there")
        .map(|entry| entry.expect("can be listed").file_name())
        .collect();
    assert_eq!(names, ["web-1.0.0.tgz"]);
    assert_eq!(std::fs::read(env.path().join("out/web-1.0.0.tgz")).expect("is there"), old);
}
