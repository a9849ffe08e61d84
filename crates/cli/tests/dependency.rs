//! `dependency`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env
        .write("db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.2.0\n")
        .write(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: db, version: ^1.0.0, repository: 'file://../db'}\n",
        );
    env
}

#[test]
fn the_list_shows_missing_dependencies() {
    let env = env();
    assert_snapshot!(env.helm("dependency list web"), @"
    exit 0
    --- stdout
    NAME	VERSION	REPOSITORY  	STATUS 
    db  	^1.0.0 	file://../db	missing
    ");
    assert_snapshot!(env.helm("dep ls web --max-col-width 10"), @"
    exit 0
    --- stdout
    NAME	VERSION	REPOSITORY	STATUS 
    db  	^1.0.0 	file://...	missing
    ");
    assert_snapshot!(env.helm("dependencies list db"), @"
    exit 0
    --- stdout
    WARNING: no dependencies at db/charts
    ");
    assert_snapshot!(env.helm("dependency list nowhere"), @"
    exit 1
    --- stderr
    Error: stat nowhere: no such file or directory
    ");
}

#[test]
fn update_fetches_and_build_repeats_it() {
    let env = env();
    assert_snapshot!(env.helm("dependency update web"), @"
    exit 0
    --- stdout
    Saving 1 charts
    Deleting outdated charts
    ");
    assert_snapshot!(env.helm("dependency list ./web/"), @"
    exit 0
    --- stdout
    NAME	VERSION	REPOSITORY  	STATUS
    db  	^1.0.0 	file://../db	ok
    ");
    std::fs::remove_dir_all(env.path().join("web/charts")).unwrap();
    assert_snapshot!(env.helm("dep build web --skip-refresh"), @"
    exit 0
    --- stdout
    Saving 1 charts
    Deleting outdated charts
    ");
    assert!(env.path().join("web/charts/db-1.2.0.tgz").exists());
}

#[test]
fn a_lock_that_is_out_of_date_is_refused() {
    let env = env();
    env.helm("dep up web");
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: db, version: ^2.0.0, repository: 'file://../db'}\n");
    assert_snapshot!(env.helm("dep build web"), @"
    exit 1
    --- stderr
    Error: the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update the dependencies with 'helm dependency update'
    ");
}

#[test]
fn repositories_that_nobody_knows_are_refused_before_anything_is_changed() {
    let env = env();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: db, version: ^2.0.0, repository: '@nobody'}\n");
    assert_snapshot!(env.pintle("dependency update web"), @"
    exit 1
    --- stderr
    error: no repository definition for @nobody. Please add them via 'helm repo add'
    ");
    assert!(!env.path().join("web/charts").exists());
}
