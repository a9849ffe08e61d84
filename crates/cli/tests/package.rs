//! `package`

use crate::support;

use insta::assert_snapshot;
use support::{Place, chart};

#[test]
fn archives_are_named_after_chart_and_version() {
    let place = Place::new();
    chart::write(&place);
    assert_snapshot!(place.helm("package web"), @"
    exit 0
    --- stdout
    Successfully packaged chart and saved it to: {here}/web-0.1.0.tgz
    ");
    assert_snapshot!(place.helm("package ./web --version 2.0.0 --app-version 3 -d out"), @"
    exit 0
    --- stdout
    Successfully packaged chart and saved it to: out/web-2.0.0.tgz
    ");
    assert_snapshot!(place.helm("show chart out/web-2.0.0.tgz"), @r#"
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
fn an_epoch_makes_the_same_bytes_each_time() {
    let place = Place::new();
    chart::write(&place);
    let pack = |folder: &str| {
        place.helm_with(
            &format!("package web --destination {folder}"),
            &[("SOURCE_DATE_EPOCH", "1000000000")],
        );
        std::fs::read(place.path().join(folder).join("web-0.1.0.tgz")).unwrap()
    };
    let first = pack("one");
    std::fs::write(
        place.path().join("web/values.yaml"),
        "greeting: hello\nlist: [a, b]\nnested: {port: 80}\n",
    )
    .unwrap();
    assert_eq!(first, pack("two"));
}

#[test]
fn dependencies_are_fetched_on_demand() {
    let place = Place::new();
    chart::write(&place);
    place
        .write("db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.2.0\n")
        .write(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: db, version: ^1.0.0, repository: 'file://../db'}\n",
        );
    assert_snapshot!(place.helm("package web"), @"
    exit 1
    --- stderr
    Error: found in Chart.yaml, but missing in charts/ directory: db
    ");
    assert_snapshot!(place.helm("package web -u"), @"
    exit 0
    --- stdout
    Successfully packaged chart and saved it to: {here}/web-0.1.0.tgz
    ");
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let place = Place::new();
    chart::write(&place);
    assert_snapshot!(place.helm("package"), @"
    exit 1
    --- stderr
    Error: need at least one argument, the path to the chart
    ");
    assert_snapshot!(place.helm("package nowhere"), @"
    exit 1
    --- stderr
    Error: stat nowhere: no such file or directory
    ");
    assert_snapshot!(place.helm("package web --version x"), @"
    exit 1
    --- stderr
    Error: invalid semantic version
    ");
    assert_snapshot!(place.pintle("package web --sign --key k --keyring r --passphrase-file p"), @"
    exit 2
    --- stderr
    error: open r: no such file or directory
    ");
}
