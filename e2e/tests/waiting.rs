//! Waiting for objects that run: until they are ready, and what is reported when they never will be.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use pintle_e2e::{CommandResult, Program, TestEnv, needs_real, write_simulation_helpers};
use serde_json::{Value, json};

/// A Deployment, and a Job when a value says what it runs.
const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  # Long enough for a crash to come first.
  minReadySeconds: {{ .Values.calm | default 1 }}
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations:
        {{- include "simulation" (.Values.script | default "") | nindent 8 }}
        pintle.dev/simulate-image: {{ if .Values.image }}missing{{ else }}there{{ end }}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: {{ .Values.image | default "test.invalid/busybox:1" }}
          command: [sh, -c, {{ .Values.script | default "sleep 1000" | quote }}]
{{- with .Values.job }}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job-{{ $.Release.Revision }}}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        {{- include "simulation" . | nindent 8 }}
        {{- include "simulated-duration" . | nindent 8 }}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: 'test.invalid/busybox:1', command: [sh, -c, {{ . | quote }}]}]
{{- end }}
"#;

/// One of each kind that runs pods.
const WORKLOADS: &str = r#"
{{- define "pod" }}
    metadata: {labels: {app: {{ . }}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: test.invalid/busybox:1
          command: [sleep, "1000"]
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata: {name: deployment}
spec:
  replicas: 2
  selector: {matchLabels: {app: deployment}}
  template: {{- include "pod" "deployment" }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: stateful}
spec:
  serviceName: stateful
  selector: {matchLabels: {app: stateful}}
  template: {{- include "pod" "stateful" }}
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec:
  # By the rules of Helm 3 one pod that is missing is none too few, unless printed.
  updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: daemon}}
  template: {{- include "pod" "daemon" }}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: 'test.invalid/busybox:1', command: [sleep, "2"]}]
"#;

fn chart(env: &TestEnv, templates: &str) {
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/templates/all.yaml", templates);
    write_simulation_helpers(env, "chart");
}

/// Whether a line is a log message of client-go about its connections, such as `I1115 10:15:41.7 …`.
fn is_noise(line: &str) -> bool {
    let mut letters = line.bytes();
    letters.next().is_some_and(|level| b"IWE".contains(&level))
        && letters.by_ref().take(4).filter(u8::is_ascii_digit).count() == 4
        && letters.next() == Some(b' ')
}

fn masked(env: &TestEnv, text: &str) -> String {
    let text = text.replace(env.namespace(), "NAMESPACE");
    let keep = |line: &&str| !line.starts_with("LAST DEPLOYED: ") && !is_noise(line);
    text.lines().filter(keep).map(|line| format!("{line}\n")).collect()
}

fn outcome(env: &TestEnv, ran: &CommandResult) -> (Option<i32>, String, String) {
    (ran.code, masked(env, &ran.stdout), masked(env, &ran.stderr))
}

/// Runs several programs concurrently, each in its own namespace, and returns their results.
fn side_by_side<T: Send>(
    test: &str,
    programs: &[Program],
    work: impl Fn(&TestEnv, Program) -> T + Sync,
) -> Option<Vec<T>> {
    let benches: Vec<TestEnv> = programs.iter().map_while(|_| TestEnv::with_pods(test)).collect();
    if benches.len() < programs.len() {
        return None;
    }
    let work = &work;
    Some(thread::scope(|scope| {
        let started: Vec<_> =
            benches.iter().zip(programs).map(|(env, program)| scope.spawn(|| work(env, *program))).collect();
        started.into_iter().map(|task| task.join().expect("the test goes on")).collect()
    }))
}

#[test]
fn everything_is_ready_when_waiting_ends() {
    let programs = [Program::Pintle, Program::PintleAsHelm];
    side_by_side("everything_is_ready_when_waiting_ends", &programs, |env, program| {
        chart(env, WORKLOADS);
        let strategy = if program == Program::Pintle { "--wait" } else { "--wait=legacy" };
        env.run(program, &["install", "web", "chart", strategy, "--wait-for-jobs"]).succeeded();
        let number = |version, plural, name, field| {
            env.object(version, plural, name).expect(name)["status"][field].clone()
        };
        assert_eq!(number("apps/v1", "deployments", "deployment", "availableReplicas"), 2);
        assert_eq!(number("apps/v1", "statefulsets", "stateful", "readyReplicas"), 1);
        assert_eq!(number("v1", "persistentvolumeclaims", "data-stateful-0", "phase"), "Bound");
        assert_eq!(number("apps/v1", "daemonsets", "daemon", "numberReady"), 1);
        assert_eq!(number("batch/v1", "jobs", "job", "succeeded"), 1);
    });
}

#[test]
fn nothing_is_waited_for_unless_asked_and_jobs_only_when_asked_for_them() {
    let Some(env) = TestEnv::with_pods("nothing_is_waited_for_unless_asked") else { return };
    chart(&env, DEPLOYMENT);
    let never = ["--set", "image=test.invalid/none:1"];
    env.run(Program::Pintle, &[&["install", "web", "chart"][..], &never].concat()).succeeded();
    env.run(Program::Pintle, &[&["upgrade", "web", "chart", "--wait=hookOnly"][..], &never].concat())
        .succeeded();
    let job = ["--set", "job=sleep 100"];
    env.run(Program::Pintle, &[&["upgrade", "web", "chart", "--wait"][..], &job].concat()).succeeded();
    let job = env.object("batch/v1", "jobs", "job-3").expect("it was made");
    assert!(job["status"]["succeeded"].is_null(), "{job}");
    let web = env.object("apps/v1", "deployments", "web").expect("it was made");
    assert_eq!(web["status"]["availableReplicas"], 1);
}

/// Installs objects that can never become ready, and returns the output. The wait must fail before the timeout.
fn given_up(test: &str, values: &str, prepare: impl Fn(&TestEnv)) -> Option<String> {
    given_up_by("--wait", test, values, prepare)
}

fn given_up_by(strategy: &str, test: &str, values: &str, prepare: impl Fn(&TestEnv)) -> Option<String> {
    let env = TestEnv::with_pods(test)?;
    chart(&env, DEPLOYMENT);
    prepare(&env);
    let arguments =
        ["install", "web", "chart", strategy, "--wait-for-jobs", "--timeout", "10m", "--set", values];
    let ran = env.run(Program::Pintle, &arguments).failed();
    assert!(!ran.stderr.contains("context deadline exceeded"), "time ran out: {}", ran.stderr);
    assert_eq!(ran.code, Some(1));
    let status = env.run(Program::Pintle, &["status", "web"]).succeeded();
    assert!(status.stdout.contains("STATUS: failed"), "{}", status.stdout);
    Some(masked(&env, &ran.stderr))
}

/// The event of the scheduler. Events of the kubelet are delayed, possibly beyond the end of the wait.
const SCHEDULED: &str = "Normal Scheduled: Successfully assigned NAMESPACE/web-";

fn assert_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn waiting_for_an_image_that_cannot_be_had_is_given_up() {
    let test = "waiting_for_an_image_that_cannot_be_had";
    let Some(printed) = given_up(test, "image=test.invalid/none:1", |_| {}) else { return };
    assert_all(
        &printed,
        &[
            "error: Deployment/NAMESPACE/web: container main of pod web-",
            "cannot pull image \"test.invalid/none:1\" (",
            "  events of Pod/web-",
            SCHEDULED,
        ],
    );
}

/// Whether the kubelet has reported that it cannot pull an image.
fn node_complains(env: &TestEnv) -> bool {
    env.objects("v1", "events").iter().any(|event| {
        event["source"]["component"] == "kubelet"
            && event["message"].as_str().is_some_and(|text| text.starts_with("Failed to pull image"))
    })
}

#[test]
fn what_the_node_says_of_a_pod_is_told() {
    let Some(env) = TestEnv::with_pods("what_the_node_says_of_a_pod_is_told") else { return };
    chart(&env, DEPLOYMENT);
    let never = ["--set", "image=test.invalid/none:1"];
    env.run(Program::Pintle, &[&["install", "web", "chart"][..], &never].concat()).succeeded();
    // Events of the kubelet are delayed; the upgrade with `--wait` starts once they exist.
    let limit = Instant::now() + Duration::from_secs(300);
    while !node_complains(&env) {
        assert!(Instant::now() < limit, "the node says nothing: {:#?}", env.objects("v1", "events"));
        thread::sleep(Duration::from_millis(200));
    }
    let printed = env.run(Program::Pintle, &[&["upgrade", "web", "chart", "--wait"][..], &never].concat());
    let printed = masked(&env, &printed.failed().stderr);
    assert_all(
        &printed,
        &[
            "container main of pod web-",
            "  events of Pod/web-",
            "Warning Failed: Failed to pull image \"test.invalid/none:1\"",
        ],
    );
}

#[test]
fn waiting_for_a_container_that_crashes_is_given_up_with_its_last_words() {
    let test = "waiting_for_a_container_that_crashes";
    let Some(printed) = given_up(test, "calm=5,script=echo last words; exit 7", |_| {}) else { return };
    assert_all(
        &printed,
        &[
            "error: Deployment/NAMESPACE/web: container main of pod web-",
            "is in a crash loop: restarted ",
            " times, last terminated with exit code 7\n",
            SCHEDULED,
            "  last lines of container main:\n    last words\n",
        ],
    );
}

#[test]
fn waiting_for_a_job_that_failed_is_given_up_with_its_last_words() {
    let test = "waiting_for_a_job_that_failed";
    let Some(printed) = given_up(test, "job=echo last words; exit 7", |_| {}) else { return };
    assert_all(
        &printed,
        &[
            "error: resource Job/NAMESPACE/job-1 not ready. status: Failed, message: Job Failed. failed: 1/1\n",
            "Job/NAMESPACE/job-1: container main of pod job-1-",
            "terminated with exit code 7",
            "  last lines of container main:\n    last words\n",
        ],
    );
}

#[test]
fn by_the_rules_of_helm_3_waiting_for_a_job_that_failed_is_given_up_too() {
    let test = "by_the_rules_of_helm_3_waiting_for_a_job";
    let Some(printed) = given_up_by("--wait=legacy", test, "job=echo last words; exit 7", |_| {}) else {
        return;
    };
    assert_all(
        &printed,
        &["error: job is failed: NAMESPACE/job-1\n", "  last lines of container main:\n    last words\n"],
    );
}

#[test]
fn waiting_for_pods_that_a_quota_forbids_is_given_up() {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}},
    });
    let prepare = |env: &TestEnv| {
        env.api().create(&env.path("v1", "resourcequotas", ""), &quota);
        env.wait_for("v1", "resourcequotas", "none", |quota| {
            quota.is_some_and(|quota| !quota["status"]["hard"].is_null())
        });
    };
    let test = "waiting_for_pods_that_a_quota_forbids";
    let Some(printed) = given_up(test, "x=y", prepare) else { return };
    assert_all(
        &printed,
        &["error: Deployment/NAMESPACE/web: cannot create pods: pods \"web-", "exceeded quota: none"],
    );
}

#[test]
fn waiting_for_pods_that_a_security_standard_forbids_is_given_up() {
    let prepare = |env: &TestEnv| {
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let space = format!("/api/v1/namespaces/{}", env.namespace());
        env.api().merge(&space, &json!({"metadata": {"labels": labels}}));
    };
    let test = "waiting_for_pods_that_a_security_standard_forbids";
    let Some(printed) = given_up(test, "x=y", prepare) else { return };
    assert_all(
        &printed,
        &[
            "warning: server: would violate PodSecurity \"restricted:latest\": allowPrivilegeEscalation",
            "error: Deployment/NAMESPACE/web: cannot create pods: pods \"web-",
            "is forbidden: violates PodSecurity \"restricted:latest\"",
            "pod or container \"main\" must set securityContext.runAsNonRoot=true",
        ],
    );
}

#[test]
fn under_the_name_helm_waiting_in_vain_ends_with_helms_words() {
    let programs = [Program::Helm4, Program::PintleAsHelm];
    let printed = side_by_side("under_the_name_helm_waiting_in_vain", &programs, |env, program| {
        let hook = "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: hook, annotations: {helm.sh/hook: post-install}}\n\
                    spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: 'test.invalid/busybox:1', \
                    command: [sleep, '100']}]}\n";
        chart(env, &format!("{DEPLOYMENT}{hook}"));
        let cases: [&[&str]; 4] = [
            &["--wait", "--timeout", "12s", "--set", "image=test.invalid/none:1", "--no-hooks"],
            &["--wait=legacy", "--timeout", "12s", "--set", "image=test.invalid/none:1", "--no-hooks"],
            &["--wait", "--wait-for-jobs", "--timeout", "10m", "--set", "job=exit 7", "--no-hooks"],
            &["--timeout", "12s"],
        ];
        cases.map(|case| {
            let ran = env.run(program, &[&["install", "web", "chart"], case].concat());
            env.run(program, &["uninstall", "web", "--no-hooks", "--wait"]).succeeded();
            outcome(env, &ran)
        })
    });
    let Some(printed) = printed else { return };
    assert_eq!(printed[0], printed[1]);
    assert!(printed[0].iter().all(|(code, _, _)| *code == Some(1)), "{printed:?}");
}

#[test]
fn a_failed_operation_is_undone_when_that_was_asked_for() {
    let programs = [Program::Helm4, Program::PintleAsHelm, Program::Pintle];
    let printed = side_by_side("a_failed_operation_is_undone", &programs, |env, program| {
        let plain = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {is: '{{ .Values.is }}'}\n\
                     {{- with .Values.extra }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n{{- end }}\n";
        chart(env, &format!("{DEPLOYMENT}{plain}"));
        let waiting = ["--wait-for-jobs", "--timeout", "10m"];
        let run = |arguments: &[&str]| env.run(program, &[arguments, &waiting].concat());
        let is = || env.object("v1", "configmaps", "plain").map(|plain| plain["data"]["is"].clone());
        let bad = "is=bad,job=exit 7,extra=yes";

        let first = run(&["install", "web", "chart", "--rollback-on-failure", "--set", bad]).failed();
        env.wait_for("v1", "configmaps", "plain", |plain| plain.is_none());
        let gone = env.run(program, &["status", "web"]).failed();

        run(&["install", "web", "chart", "--set", "is=good"]).succeeded();
        let second = run(&["upgrade", "web", "chart", "--rollback-on-failure", "--set", bad]).failed();
        assert_eq!(is(), Some("good".into()), "{program:?}");
        let extra = || env.object("v1", "configmaps", "extra").is_some();
        env.wait_for("v1", "configmaps", "extra", |extra| extra.is_none());

        let third = run(&["upgrade", "web", "chart", "--cleanup-on-fail", "--wait", "--set", bad]).failed();
        assert_eq!(is(), Some("bad".into()), "{program:?}");
        assert!(!extra(), "{program:?}");
        let history = env.run(program, &["history", "web", "-o", "json"]).succeeded();
        let history: Value = serde_json::from_str(&history.stdout).expect("JSON");
        let versions = history.as_array().expect("a list").iter();
        let versions: Vec<String> = versions
            .map(|version| masked(env, &format!("{} {}", version["status"], version["description"])))
            .collect();
        (program, [first, gone, second, third].map(|ran| outcome(env, &ran)), versions)
    });
    let Some([helm, ours, own]) = printed.and_then(|printed| <[_; 3]>::try_from(printed).ok()) else {
        return;
    };
    assert_eq!(helm.1, ours.1);
    assert_eq!(helm.2, ours.2);
    let states: Vec<&str> =
        own.2.iter().map(|version| version.split(' ').next().unwrap_or_default().trim_matches('"')).collect();
    assert_eq!(states, ["superseded", "failed", "deployed", "failed"]);
    assert_all(&own.1[2].2, &["release web failed, and has been rolled back"]);
}

/// The program on a terminal of its own.
fn on_a_terminal(env: &TestEnv, arguments: &str) -> String {
    let program = env.command(Program::Pintle);
    let mut command = Command::new("script");
    command.env_clear().current_dir(env.folder()).env("TERM", "xterm");
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let line = format!("{} {arguments}", program.get_program().to_string_lossy());
    let output = command.args(["-qec", &line, "/dev/null"]).output().expect("`script` can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_terminal_shows_a_table_that_renews_itself_and_other_places_get_lines() {
    let Some(env) = TestEnv::with_pods("a_terminal_shows_a_table") else { return };
    let hook = "\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: pre-install, \
                helm.sh/hook-output-log-policy: hook-failed, pintle.dev/simulate-log: spoken}\nspec:\n  restartPolicy: Never\n  containers: \
                [{name: main, image: 'test.invalid/busybox:1', command: [echo, spoken]}]\n";
    chart(&env, &format!("{DEPLOYMENT}{hook}"));
    let shown = on_a_terminal(&env, "install web chart --wait").replace(env.namespace(), "NAMESPACE");
    assert_all(
        &shown,
        &[
            // On a terminal, the log of a hook is shown live, whether the hook succeeds or not.
            "Logs for pod: hook, container: main\r\nspoken\r\n",
            // One row for what is not ready, with the time since it was first seen, and a count.
            "Deployment/web  0s  ",
            "0 of 1 ready\r\n",
            // Moves the cursor up to the first line of the table and erases it.
            "A\r\u{1b}[J",
        ],
    );
    let after = shown.rsplit("\u{1b}[J").next().unwrap_or_default();
    assert!(after.starts_with("NAME: web\r\n"), "{after:?}");

    let lines = env.run(Program::Pintle, &["upgrade", "web", "chart", "--wait", "--set", "script=sleep 999"]);
    let lines = lines.succeeded();
    assert!(!lines.stderr.contains('\u{1b}') && !lines.stdout.contains('\u{1b}'), "{lines:?}");
    let last = format!("Deployment/{}/web: Current: Deployment is available. Replicas: 1\n", env.namespace());
    assert!(lines.stderr.ends_with(&last), "{}", lines.stderr);

    let data = env.run(
        Program::Pintle,
        &["upgrade", "web", "chart", "--wait", "-o", "json", "--set", "script=sleep 998"],
    );
    let release: Value = serde_json::from_str(&data.succeeded().stdout).expect("nothing but JSON");
    assert_eq!(release["info"]["status"], "deployed");
}

#[test]
fn a_user_without_rights_is_told_which_one_is_missing() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("a_user_without_rights") else { return };
    chart(&env, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n");
    let limited = env.cluster().kubeconfig.with_file_name("access").join("limited");
    let run = |program, arguments: &[&str]| {
        let output = env.command(program).env("KUBECONFIG", &limited).args(arguments).output();
        CommandResult::from(output.expect("the program can be run")).failed()
    };
    let commands: [&[&str]; 6] = [
        &["install", "web", "chart"],
        &["upgrade", "web", "chart"],
        &["rollback", "web"],
        &["status", "web"],
        &["list"],
        &["uninstall", "web"],
    ];
    for command in commands {
        let [helm, ours] = [Program::Helm4, Program::PintleAsHelm].map(|program| run(program, command));
        assert_eq!(helm, ours, "{command:?}");
        let own = run(Program::Pintle, command);
        assert_eq!(own.code, Some(1), "{command:?}");
        assert_all(&own.stderr, &["error: ", " is forbidden: User \"limited\" cannot ", env.namespace()]);
    }
}
