//! Both programs take turns in one home: each goes on with the files that the other wrote.

use std::fs;

use super::fixtures::{World, charts};
use super::side::Side;
use super::skip;
use crate::support::TestEnv;

/// Runs a hand-over in both directions, each in a new home. The text names what has to be started.
fn take_turns(text: &str, hand_over: impl Fn(&World<'_>, &Side, &Side)) {
    let Some(helm) = pintle_testkit::real_helm() else {
        skip("the real Helm 4.3.1 is missing");
        return;
    };
    let place = TestEnv::new();
    let Some(world) = World::start(&place, &helm, text) else { return };
    for (name, first, second) in [("a", &world.helm, &world.ours), ("b", &world.ours, &world.helm)] {
        let side = |program| Side::new(program, &world.homes, name);
        charts(&side(first).home);
        hand_over(&world, &side(first), &side(second));
    }
}

fn run(world: &World<'_>, side: &Side, line: &str) -> String {
    let line = world.filled_in(line);
    let outcome = side.run(&line);
    assert_eq!(outcome.exit, Some(0), "{} {line}: {outcome:#?}", side.program.display());
    outcome.stdout
}

#[test]
fn repositories_and_their_cache_are_shared() {
    take_turns("", |world, first, second| {
        let run = |side, line| run(world, side, line);
        run(first, "repo add one {plain}/charts --username me --password secret");
        run(second, "repo add two {plain}/json --pass-credentials");
        assert_eq!(run(first, "repo list -o json"), run(second, "repo list -o json"));
        assert_eq!(run(first, "search repo"), run(second, "search repo"));
        assert_eq!(run(first, "show all one/web"), run(second, "show all one/web"));
        // The other program puts another index where ours has an index cache.
        run(first, "repo add one {plain}/json --force-update");
        assert!(!run(second, "search repo").contains("one/db"));
        run(second, "repo add one {plain}/charts --force-update");
        assert!(run(first, "search repo").contains("one/db"));
        run(first, "repo update");
        assert_eq!(run(first, "search repo -l"), run(second, "search repo -l"));
        run(second, "repo remove one");
        assert!(run(first, "repo list").contains("two"));
        run(first, "repo remove two");
        assert_eq!(run(second, "repo list"), "");
    });
}

#[test]
fn charts_in_the_content_cache_are_shared() {
    take_turns("", |world, first, second| {
        let run = |side, line| run(world, side, line);
        run(first, "repo add r {plain}/charts");
        let shown = run(first, "show all r/web");
        // From here on the repository does not answer: only the cache has the chart.
        let config = first.home.join(".config/helm/repositories.yaml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, text.replace(&world.filled_in("{plain}"), "http://127.0.0.1:1")).unwrap();
        assert_eq!(run(second, "show all r/web"), shown);
        assert_eq!(run(second, "template x r/web"), run(first, "template x r/web"));
    });
}

#[test]
fn locks_and_dependencies_are_shared() {
    take_turns("", |world, first, second| {
        let run = |side, line| run(world, side, line);
        run(first, "repo add r {plain}/charts");
        let chart = "apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies:\n\
                     - {name: web, alias: front, version: '>=1.0.0', repository: '@r'}\n\
                     - {name: db, version: 0.x, repository: '{plain}/charts', condition: db.on, tags: [a]}\n";
        fs::create_dir(first.home.join("app")).unwrap();
        fs::write(first.home.join("app/Chart.yaml"), world.filled_in(chart)).unwrap();
        run(first, "dependency update app");
        let lock = || fs::read_to_string(first.home.join("app/Chart.lock")).unwrap();
        let written = lock();
        // The other program agrees with the lock: nothing is rewritten.
        fs::remove_dir_all(first.home.join("app/charts")).unwrap();
        run(second, "dependency build app");
        run(second, "dependency update app --skip-refresh");
        assert_eq!(lock(), written);
        assert_eq!(run(first, "dependency list app"), run(second, "dependency list app"));
        assert_eq!(run(first, "template x app"), run(second, "template x app"));
    });
}

#[test]
fn logins_and_registries_are_shared() {
    take_turns("{guarded}", |world, first, second| {
        let run = |side, line| run(world, side, line);
        let digest = |pushed: String| {
            pushed.lines().find_map(|line| line.strip_prefix("Digest: ").map(ToOwned::to_owned))
        };
        world.put("@packed", &first.home);
        run(first, "registry login {guarded} -u me --password-stdin --plain-http <<< pw");
        // Each uses the login that the other stored, and the same archive has the same digest.
        let push = "push web-1.0.0.tgz oci://{guarded}/turns --plain-http";
        let pushed = digest(run(first, push));
        assert!(pushed.is_some());
        assert_eq!(digest(run(second, push)), pushed);
        run(second, "pull oci://{guarded}/turns/web --version 1.0.0 --plain-http --untar --untardir pulled");
        // And removes it.
        run(second, "registry logout {guarded}");
        let refused = first.run(&world.filled_in("push web-1.1.0.tgz oci://{guarded}/turns --plain-http"));
        assert_eq!(refused.exit, Some(1), "{refused:?}");
    });
}

#[test]
fn signatures_are_shared() {
    take_turns("@keys", |world, first, second| {
        let run = |side, line| run(world, side, line);
        world.put("@keys", &first.home);
        run(first, "package web --sign --key anne@ --keyring secret.gpg");
        let verified = run(second, "verify web-1.0.0.tgz --keyring public.gpg");
        assert!(verified.starts_with("Signed by: Anne"), "{verified}");
        assert_eq!(run(first, "verify web-1.0.0.tgz --keyring public.gpg"), verified);
    });
}
