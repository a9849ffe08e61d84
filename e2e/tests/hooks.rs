//! Hooks on a real cluster: their order, their policies, their environment, and their logs.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use pintle_e2e::{Program, TestEnv, write_simulation_helpers};
use serde_json::{Value, json};

const EVENTS: [&str; 9] = [
    "pre-install",
    "post-install",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "pre-delete",
    "post-delete",
    "test",
];

fn chart(env: &TestEnv, templates: &str) {
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/templates/all.yaml", templates);
    write_simulation_helpers(env, "chart");
}

fn annotations(list: &[(&str, &str)]) -> String {
    list.iter().map(|(key, value)| format!("    helm.sh/{key}: {value:?}\n")).collect()
}

fn config_map(name: &str, list: &[(&str, &str)]) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n{}",
        annotations(list)
    )
}

fn pod(name: &str, list: &[(&str, &str)], script: &str) -> String {
    pod_with(name, list, &format!("{script:?}"))
}

/// A pod whose script is what a template's expression gives.
fn pod_with(name: &str, list: &[(&str, &str)], script: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  annotations:\n{}    \
         {{{{- include \"simulation\" {script} | nindent 4 }}}}\n    {{{{- include \"simulated-duration\" {script} | nindent 4 }}}}\nspec:\n  \
         restartPolicy: Never\n  terminationGracePeriodSeconds: 1\n  containers:\n    - {{name: main, image: \
         'test.invalid/busybox:1', command: [sh, -c, {{{{ {script} | quote }}}}]}}\n",
        annotations(list)
    )
}

/// Whether a line is a log message of client-go about its connections, such as `I1115 10:15:41.7 …`.
fn is_noise(line: &str) -> bool {
    let mut letters = line.bytes();
    letters.next().is_some_and(|level| b"IWE".contains(&level))
        && letters.by_ref().take(4).filter(u8::is_ascii_digit).count() == 4
        && letters.next() == Some(b' ')
}

/// An output without what differs from run to run.
fn masked(env: &TestEnv, text: &str) -> String {
    let text = text.replace(env.namespace(), "NAMESPACE");
    let is_time = |line: &&str| {
        ["LAST DEPLOYED: ", "Last Started: ", "Last Completed: "].iter().any(|word| line.starts_with(word))
    };
    text.lines()
        .filter(|line| !is_noise(line))
        .map(|line| if is_time(&line) { line.split_once(':').map_or(line, |(word, _)| word) } else { line })
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The names of the ConfigMaps that were written since `after`, in the order in which that happened.
fn written_since(env: &TestEnv, after: &mut u64) -> Vec<String> {
    let revision = |object: &Value| {
        object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok())
    };
    let mut found: Vec<(u64, String)> = env
        .objects("v1", "configmaps")
        .iter()
        .filter_map(|object| Some((revision(object)?, object["metadata"]["name"].as_str()?.to_owned())))
        .filter(|(number, name)| *number > *after && name != "kube-root-ca.crt")
        .collect();
    found.sort();
    *after = found.last().map_or(*after, |(number, _)| *number);
    found.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn the_hooks_of_all_nine_events_run_around_the_objects_by_weight_and_name() {
    for program in [Program::Pintle, Program::PintleAsHelm, Program::Helm4] {
        let Some(env) = TestEnv::new("the_hooks_of_all_nine_events") else { return };
        let mut templates = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {is: \
                             '{{ .Values.is | default 1 }}'}\n"
            .to_owned();
        for event in EVENTS {
            for (name, weight) in [("a", "3"), ("b", "-1"), ("c", "2"), ("d", "2")] {
                // Without an owner, so that what ran last can still be seen when the release is gone.
                let list = [("hook", event), ("hook-weight", weight), ("hook-policy", "unmanaged")];
                templates.push_str(&config_map(&format!("{event}-{name}"), &list));
            }
        }
        chart(&env, &templates);
        let around = |event: &str| ["b", "c", "d", "a"].map(|name| format!("{event}-{name}")).to_vec();
        let mut seen = 0;
        for (arguments, events) in [
            (&["install", "web", "chart"][..], ["pre-install", "post-install"]),
            (&["upgrade", "web", "chart", "--set", "is=2"], ["pre-upgrade", "post-upgrade"]),
            (&["rollback", "web"], ["pre-rollback", "post-rollback"]),
        ] {
            env.run(program, arguments).succeeded();
            let expected = [around(events[0]), vec!["plain".to_owned()], around(events[1])].concat();
            assert_eq!(written_since(&env, &mut seen), expected, "{program:?} {arguments:?}");
        }
        env.run(program, &["test", "web"]).succeeded();
        assert_eq!(written_since(&env, &mut seen), around("test"), "{program:?}");
        env.run(program, &["uninstall", "web"]).succeeded();
        let expected = [around("pre-delete"), around("post-delete")].concat();
        assert_eq!(written_since(&env, &mut seen), expected, "{program:?}");
        env.wait_for("v1", "configmaps", "plain", |plain| plain.is_none());
    }
}

#[test]
fn a_hook_runs_to_its_end_before_the_next_one_begins() {
    let Some(env) = TestEnv::with_pods("a_hook_runs_to_its_end_before_the_next") else { return };
    let first = pod("first", &[("hook", "pre-install"), ("hook-weight", "1")], "sleep 3");
    let second = config_map("second", &[("hook", "pre-install"), ("hook-weight", "2")]);
    chart(&env, &format!("{first}{second}"));
    env.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
    let first = env.object("v1", "pods", "first").expect("it stays until it runs again");
    let second = env.object("v1", "configmaps", "second").expect("it was made");
    let end = first["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"].as_str();
    let begin = second["metadata"]["creationTimestamp"].as_str();
    assert!(end.is_some() && end <= begin, "{end:?} {begin:?}");
    assert!(first["metadata"]["creationTimestamp"].as_str() < begin);
}

#[test]
fn a_failing_hook_ends_the_operation_and_policies_decide_what_stays() {
    let mut printed = Vec::new();
    for program in [Program::Helm4, Program::PintleAsHelm, Program::Pintle] {
        let Some(env) = TestEnv::with_pods("a_failing_hook_ends_the_operation") else { return };
        let hook = |weight, policy| {
            [("hook", "pre-install"), ("hook-weight", weight), ("hook-delete-policy", policy)]
        };
        let mut templates = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n".to_owned();
        templates.push_str(&config_map("stays", &hook("-3", "hook-failed")));
        templates.push_str(&config_map("goes", &hook("-2", "hook-succeeded")));
        templates.push_str(&pod("fails", &hook("-1", "hook-failed"), "exit 3"));
        templates.push_str(&config_map("never", &hook("0", "before-hook-creation")));
        chart(&env, &templates);
        let ran = env.run(program, &["install", "web", "chart"]).failed();
        assert_eq!(ran.code, Some(1));
        let there = |plural, name| env.object("v1", plural, name).is_some();
        assert!(there("configmaps", "stays"), "{program:?}");
        assert!(!there("configmaps", "goes"), "{program:?}");
        assert!(!there("configmaps", "never"), "{program:?}");
        assert!(!there("configmaps", "plain"), "{program:?}");
        env.wait_for("v1", "pods", "fails", |pod| pod.is_none());
        let status = env.run(program, &["status", "web", "-o", "json"]).succeeded();
        let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
        assert_eq!(status["info"]["status"], "failed");
        printed.push((masked(&env, &ran.stdout), masked(&env, &ran.stderr)));

        env.run(program, &["install", "other", "chart", "--no-hooks"]).succeeded();
        assert!(there("configmaps", "plain") && !there("configmaps", "never"), "{program:?}");
    }
    assert_eq!(printed[0], printed[1]);
    let (_, ours) = &printed[2];
    assert!(ours.contains("error: failed pre-install: resource Pod/NAMESPACE/fails not ready"), "{ours}");
    assert!(ours.contains("container main terminated with exit code 3"), "{ours}");
}

#[test]
fn a_hook_without_policy_is_made_anew_and_one_that_succeeded_goes_if_it_says_so() {
    for program in [Program::Helm4, Program::PintleAsHelm, Program::Pintle] {
        let Some(env) = TestEnv::new("a_hook_without_policy_is_made_anew") else { return };
        let events = ("hook", "post-install,post-upgrade");
        let mut templates = config_map("anew", &[events]);
        templates.push_str(&config_map("goes", &[events, ("hook-delete-policy", "hook-succeeded")]));
        chart(&env, &templates);
        let uid = || env.object("v1", "configmaps", "anew").map(|object| object["metadata"]["uid"].clone());
        env.run(program, &["install", "web", "chart"]).succeeded();
        let first = uid();
        assert!(first.is_some());
        env.run(program, &["upgrade", "web", "chart"]).succeeded();
        assert!(uid().is_some_and(|second| Some(second) != first), "{program:?}");
        assert!(env.object("v1", "configmaps", "goes").is_none(), "{program:?}");
    }
}

#[test]
fn a_hook_is_made_anew_only_when_the_old_one_is_gone() {
    for program in [Program::PintleAsHelm, Program::Pintle] {
        let Some(env) = TestEnv::new("a_hook_is_made_anew_only_when") else { return };
        let hook = config_map("held", &[("hook", "pre-install,pre-upgrade")]);
        chart(&env, &hook.replace("name: held\n", "name: held\n  finalizers: [example.com/hold]\n"));
        env.run(program, &["install", "web", "chart"]).succeeded();
        let before = env.object("v1", "configmaps", "held").expect("it was made");
        let mut upgrade = env.command(program);
        upgrade.args(["upgrade", "web", "chart"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut upgrade = upgrade.spawn().expect("the program can be run");
        env.wait_for("v1", "configmaps", "held", |held| {
            held.is_some_and(|held| !held["metadata"]["deletionTimestamp"].is_null())
        });
        assert!(upgrade.try_wait().expect("it can be asked").is_none(), "{program:?} did not wait");
        let path = env.path("v1", "configmaps", "held");
        env.api().merge(&path, &json!({"metadata": {"finalizers": null}}));
        assert!(upgrade.wait().expect("it ends").success());
        let after = env.object("v1", "configmaps", "held").expect("it was made anew");
        assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
        assert!(after["metadata"]["deletionTimestamp"].is_null());
        // Otherwise the finalizer would keep the namespace from being deleted.
        env.api().merge(&path, &json!({"metadata": {"finalizers": null}}));
    }
}

#[test]
fn a_hook_that_cannot_be_made_fails_the_operation_and_those_before_it_are_cleaned_up() {
    for program in [Program::Helm4, Program::PintleAsHelm, Program::Pintle] {
        let Some(env) = TestEnv::new("a_hook_that_cannot_be_made") else { return };
        let hook = |weight| [("hook", "pre-rollback"), ("hook-weight", weight)];
        let goes = [&hook("1")[..], &[("hook-delete-policy", "hook-succeeded")]].concat();
        let broken =
            pod("broken", &hook("2"), "true").replace("restartPolicy: Never", "restartPolicy: Perhaps");
        chart(&env, &format!("{}{broken}", config_map("goes", &goes)));
        env.run(program, &["install", "web", "chart"]).succeeded();
        env.run(program, &["upgrade", "web", "chart"]).succeeded();
        let ran = env.run(program, &["rollback", "web"]).failed();
        let said = match program {
            Program::Pintle => "error: the server refuses Pod `broken`: spec.restartPolicy: ",
            _ => "warning: Hook pre-rollback chart/templates/all.yaml failed: ",
        };
        assert!(ran.stderr.contains(said), "{ran:?}");
        assert!(ran.stderr.contains("Unsupported value: \"Perhaps\""), "{ran:?}");
        // Helm leaves the objects that it created, and a pending release that blocks other operations.
        let helm = program == Program::Helm4;
        assert_eq!(env.object("v1", "configmaps", "goes").is_some(), helm, "{program:?}");
        let history = env.run(program, &["history", "web", "-o", "json"]).succeeded();
        let history: Value = serde_json::from_str(&history.stdout).expect("JSON");
        assert_eq!(history[2]["status"], if helm { "pending-rollback" } else { "failed" }, "{history}");
        let next = env.run(program, &["upgrade", "web", "chart"]);
        assert_eq!(next.code, Some(i32::from(helm)), "{next:?}");
    }
}

#[test]
fn weights_for_each_event_hold_and_hooks_are_told_their_event_and_weight() {
    let Some(env) = TestEnv::with_pods("weights_for_each_event_hold") else { return };
    let script = "echo event=$HELM_HOOK_EVENT weight=$HELM_HOOK_WEIGHT";
    let hook = |name: &str, weights: (&str, &str), more: &[(&str, &str)]| {
        let events = ("hook", "pre-install,post-install");
        let policy = ("hook-output-log-policy", "hook-succeeded");
        pod(name, &[&[events, policy, weights], more].concat(), script)
    };
    let mut templates = hook("listed", ("hook-weight", "2, -3"), &[]);
    templates.push_str(&hook("named", ("hook-weights", "pre-install=1,post-install=5"), &[]));
    let silent = [("hook-env", "false"), ("hook-delete-policy", "hook-succeeded")];
    templates.push_str(&hook("silent", ("hook-weight", "7,7"), &silent));
    chart(&env, &templates);
    let ran = env.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
    let printed: Vec<&str> = ran.stdout.lines().take_while(|line| !line.starts_with("NAME: ")).collect();
    // Logs of successful hooks are printed once all have succeeded, in reverse order, as in Helm.
    let block = |name: &str, text: &str| format!("Logs for pod: {name}, container: main|{text}");
    assert_eq!(
        printed.join("|"),
        [
            block("silent", "event= weight="),
            block("listed", "event=pre-install weight=2"),
            block("named", "event=pre-install weight=1"),
            block("silent", "event= weight="),
            block("named", "event=post-install weight=5"),
            block("listed", "event=post-install weight=-3"),
        ]
        .join("|")
    );
}

#[test]
fn weights_alone_make_a_hook_of_the_events_that_they_name() {
    let Some(env) = TestEnv::new("weights_alone_make_a_hook") else { return };
    let unmanaged = ("hook-policy", "unmanaged");
    let mut templates = config_map("first", &[("hook-weights", "post-delete=1,pre-delete=4"), unmanaged]);
    templates.push_str(&config_map("second", &[("hook-weights", "pre-delete=2,post-delete=2"), unmanaged]));
    chart(&env, &templates);
    env.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
    let mut seen = 0;
    assert!(written_since(&env, &mut seen).is_empty(), "they are for the end");
    env.run(Program::Pintle, &["uninstall", "web"]).succeeded();
    // What ran after the deletion is what is left.
    assert_eq!(written_since(&env, &mut seen), ["first", "second"]);
}

#[test]
fn hooks_belong_to_their_release_in_our_store_unless_they_say_otherwise() {
    for (program, owned) in [(Program::Pintle, true), (Program::PintleAsHelm, false)] {
        let Some(env) = TestEnv::new("hooks_belong_to_their_release") else { return };
        let event = ("hook", "post-install");
        let free = config_map("free", &[event, ("hook-policy", "unmanaged")]);
        chart(&env, &format!("{}{free}", config_map("bound", &[event])));
        env.run(program, &["install", "web", "chart"]).succeeded();
        let owner = |name| {
            let object = env.object("v1", "configmaps", name).expect("it was made");
            object["metadata"]["ownerReferences"][0]["kind"].as_str().map(str::to_owned)
        };
        assert_eq!(owner("bound").as_deref(), owned.then_some("Release"));
        assert_eq!(owner("free"), None);
        env.run(program, &["uninstall", "web"]).succeeded();
        if owned {
            env.wait_for("v1", "configmaps", "bound", |bound| bound.is_none());
        }
        assert!(env.object("v1", "configmaps", "free").is_some());
    }
}

#[test]
fn hooks_of_one_weight_run_together_when_they_may() {
    let Some(env) = TestEnv::with_pods("hooks_of_one_weight_run_together") else { return };
    let names = ["one", "two", "three"];
    let hooks = |script: &str| -> String {
        names.iter().map(|name| pod(name, &[("hook", "pre-install")], script)).collect()
    };
    // None of them ends, so all of them run only if they run in parallel.
    chart(&env, &hooks("sleep 1000"));
    let together = ["install", "web", "chart", "--hook-parallelism", "3"];
    let mut command = env.command(Program::Pintle);
    command.args(together).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program can be run");
    for name in names {
        env.wait_for("v1", "pods", name, |pod| pod.is_some_and(|pod| pod["status"]["phase"] == "Running"));
    }
    assert!(child.try_wait().expect("it can be asked").is_none(), "it did not wait for its hooks");
    child.kill().expect("it can be killed");
    child.wait().expect("it can be waited for");
    chart(&env, &hooks("echo done"));
    env.run(Program::Pintle, &["uninstall", "web"]).succeeded();
    env.run(Program::Pintle, &together).succeeded();
    for name in names {
        let pod = env.object("v1", "pods", name).expect("it ran");
        assert_eq!(pod["status"]["phase"], "Succeeded", "{name}");
    }
}

/// A hook with an init container; `script` is a value, so that one chart can succeed and fail.
fn talking_chart(env: &TestEnv, policy: &str) {
    let list = [("hook", "pre-install,pre-upgrade"), ("hook-output-log-policy", policy)];
    let hook = pod_with("talker", &list, ".Values.script")
        .replace("spec:\n", "    pintle.dev/simulate-log.first: prepared\nspec:\n");
    let first = "  initContainers:\n    - {name: first, image: 'test.invalid/busybox:1', command: [echo, prepared]}\n";
    chart(env, &format!("{hook}{first}"));
}

const SHOWN: &str =
    "Logs for pod: talker, container: first\nprepared\nLogs for pod: talker, container: main\nspoken\n";

#[test]
fn the_log_of_a_hook_is_shown_as_its_policy_says() {
    let Some(env) = TestEnv::with_pods("the_log_of_a_hook_is_shown") else { return };
    let (good, bad) = ("script=echo spoken", "script=echo spoken; exit 1");
    talking_chart(&env, "hook-failed, hook-succeeded");
    let ran = env.run(Program::Pintle, &["install", "web", "chart", "--set", good]).succeeded();
    assert!(ran.stdout.starts_with(&format!("{SHOWN}NAME: web\n")), "{}", ran.stdout);
    assert!(!ran.stderr.contains("Logs for pod"), "{}", ran.stderr);

    let ran = env.run(Program::Pintle, &["upgrade", "web", "chart", "-o", "json"]).succeeded();
    let release: Value = serde_json::from_str(&ran.stdout).expect("nothing but JSON");
    assert_eq!(release["version"], 2);
    assert!(ran.stderr.contains(SHOWN), "{}", ran.stderr);

    let ran = env.run(Program::Pintle, &["upgrade", "web", "chart", "--no-log-output"]).succeeded();
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("spoken"), "{ran:?}");

    talking_chart(&env, "hook-failed");
    let ran = env.run(Program::Pintle, &["upgrade", "web", "chart", "--set", good]).succeeded();
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("spoken"), "{ran:?}");
    let ran = env.run(Program::Pintle, &["upgrade", "web", "chart", "--set", bad]).failed();
    assert_eq!(ran.stdout, SHOWN);
}

#[test]
fn under_the_name_helm_the_log_of_a_hook_is_what_helm_shows() {
    let mut printed = Vec::new();
    for program in [Program::Helm4, Program::PintleAsHelm] {
        let Some(env) = TestEnv::with_pods("under_the_name_helm_the_log_of_a_hook") else { return };
        talking_chart(&env, "hook-failed, hook-succeeded");
        let good = env.run(program, &["install", "web", "chart", "--set", "script=echo a; echo b"]);
        let good = good.succeeded();
        let bad = env.run(program, &["upgrade", "web", "chart", "--set", "script=echo a; exit 1"]).failed();
        printed.push([good.stdout, good.stderr, bad.stdout, bad.stderr].map(|text| masked(&env, &text)));
    }
    assert_eq!(printed[0], printed[1]);
    assert_eq!(printed[0][1], "level=INFO msg=\"a\\nb\"\n");
}

#[test]
fn a_streamed_log_is_read_while_the_hook_still_runs() {
    let Some(env) = TestEnv::with_pods("a_streamed_log_is_read_while_the_hook") else { return };
    talking_chart(&env, "hook-failed");
    let mut command = env.command(Program::Pintle);
    command.args([
        "install",
        "web",
        "chart",
        "--logs=stream",
        "--set",
        "script=echo spoken; sleep 20; echo late",
    ]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program can be run");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut printed = String::new();
    while !printed.ends_with("spoken\n") {
        assert_ne!(lines.read_line(&mut printed).expect("it can be read"), 0, "{printed}");
    }
    let state = env.object("v1", "pods", "talker").expect("it runs")["status"]["phase"].clone();
    assert_eq!(state, "Running", "{printed}");
    assert_eq!(printed, SHOWN);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("it can be read");
    assert!(child.wait().expect("it ends").success());
    assert!(rest.starts_with("late\nNAME: web\n"), "{rest}");
}

#[test]
fn an_unknown_word_in_a_policy_is_a_warning_and_for_lint_an_error() {
    let Some(env) = TestEnv::new("an_unknown_word_in_a_policy") else { return };
    let list = [("hook", "post-install"), ("hook-output-log-policy", "hook-failed, hook-suceeded")];
    chart(&env, &config_map("misspelt", &list));
    let ran = env.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
    assert_eq!(
        ran.stderr,
        "warning: unknown word in helm.sh/hook-output-log-policy: hook-suceeded, did you mean hook-succeeded?; path: \
         chart/templates/all.yaml\n"
    );
    let ran = env.run(Program::Pintle, &["lint", "chart"]).failed();
    let finding = "[ERROR] templates/all.yaml: ConfigMap misspelt has an unknown word in \
                   helm.sh/hook-output-log-policy: \"hook-suceeded\"; did you mean hook-succeeded?";
    assert!(ran.stdout.contains(finding), "{}", ran.stdout);
    let [helm, ours] = [Program::Helm4, Program::PintleAsHelm].map(|program| {
        let installed = env.run(program, &["install", &format!("{program:?}").to_lowercase(), "chart"]);
        let linted = env.run(program, &["lint", "chart"]).succeeded();
        (installed.succeeded().stderr, linted.stdout, linted.stderr)
    });
    assert_eq!(helm, ours);
}

/// Two tests, one of which fails if a value says so.
fn tested_chart(env: &TestEnv) {
    let passes = pod("passes", &[("hook", "test")], "echo all is well");
    let list = [("hook", "test"), ("hook-weight", "5")];
    let other = pod_with("other", &list, ".Values.script");
    chart(env, &format!("{passes}{other}"));
}

#[test]
fn tests_are_told_as_helm_tells_them() {
    let mut printed = Vec::new();
    for program in [Program::Helm4, Program::PintleAsHelm] {
        let Some(env) = TestEnv::with_pods("tests_are_told_as_helm_tells_them") else { return };
        tested_chart(&env);
        env.run(program, &["install", "web", "chart", "--set", "script=echo oh no; exit 4"]).succeeded();
        let all = env.run(program, &["test", "web", "--logs"]);
        assert_eq!(all.code, Some(1), "{all:?}");
        assert!(all.stdout.contains("POD LOGS: other (main)\noh no\n"), "{}", all.stdout);
        let one = env.run(program, &["test", "web", "--filter", "name=passes", "--logs"]);
        let but = env.run(program, &["test", "web", "--filter", "!name=other"]);
        printed.push(
            [all, one, but].map(|ran| (ran.code, masked(&env, &ran.stdout), masked(&env, &ran.stderr))),
        );
    }
    assert_eq!(printed[0], printed[1]);
}

#[test]
fn a_failing_test_exits_with_1_and_a_filter_leaves_it_out() {
    let Some(env) = TestEnv::with_pods("a_failing_test_exits_with_1") else { return };
    tested_chart(&env);
    env.run(Program::Pintle, &["install", "web", "chart", "--set", "script=echo oh no; exit 4"]).succeeded();
    let ran = env.run(Program::Pintle, &["test", "web", "--logs"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("POD LOGS: passes (main)\nall is well\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("container main terminated with exit code 4"), "{}", ran.stderr);
    let ran = env.run(Program::Pintle, &["test", "web", "--filter", "!name=other"]).succeeded();
    let suites: BTreeSet<&str> =
        ran.stdout.lines().filter_map(|line| line.strip_prefix("TEST SUITE:")).map(str::trim).collect();
    assert_eq!(suites, BTreeSet::from(["other", "passes"]), "{}", ran.stdout);
}

#[test]
fn a_test_whose_pod_does_not_exist_is_reported_with_its_failure() {
    let Some(env) = TestEnv::new("a_test_without_a_pod") else { return };
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: refused\n  annotations: {helm.sh/hook: test}\nspec:\n  containers: [{name: a, image: true}]\n";
    env.write("chart/templates/test.yaml", pod);
    env.run(Program::Helm4, &["install", "web", "chart"]).succeeded();
    let [real, ours] = [Program::Helm4, Program::PintleAsHelm]
        .map(|program| env.run(program, &["test", "web", "--logs"]).failed().stderr);
    assert!(real.contains("\nunable to get pod refused: pods \"refused\" not found\n"), "{real}");
    assert_eq!(ours, real);
}
