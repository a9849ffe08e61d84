//! `version`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

#[test]
fn each_personality_has_its_own_shape() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("version"), @r#"
    exit 0
    --- stdout
    version.BuildInfo{Version:"v4.3.1", GitCommit:"", GitTreeState:"", GoVersion:"go1.27.2", KubeClientVersion:"v1.37"}
    "#);
    assert_snapshot!(env.helm("version --short"), @"
    exit 0
    --- stdout
    v4.3.1
    ");
    assert_snapshot!(env.pintle("version"), @"
    exit 0
    --- stdout
    pintle 0.1.0 (as Helm 4.3.1, Kubernetes 1.37)
    ");
    assert_snapshot!(env.pintle("version --short"), @"
    exit 0
    --- stdout
    0.1.0
    ");
}

#[test]
fn the_build_is_described_for_programs_and_helm_has_no_such_flag() {
    let env = TestEnv::new();
    let text = env.pintle("version -o json");
    let rustc = "\"rustc\":\"1.";
    for part in [
        "\"version\":\"0.1.0\"",
        "\"target\":\"",
        rustc,
        "\"features\":[",
        "\"helm\":\"4.3.1\"",
        "\"kubernetes\":\"1.37\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(env.pintle("version -o yaml").contains("helm: 4.3.1\n"));
    assert_eq!(env.helm("version -o json"), "exit 1\n--- stderr\nError: unknown shorthand flag: 'o' in -o\n");
}

#[test]
fn a_program_that_the_script_has_not_installed_is_not_updated() {
    let env = TestEnv::new();
    let refused = env.pintle("self update");
    assert!(
        refused.starts_with("exit 2\n") && refused.contains("was not installed by the install script"),
        "{refused}"
    );
    assert!(refused.contains("hint: update it the way it came here"), "{refused}");
}

/// No network but the loopback device of a namespace of its own, which is down: whoever tries to reach anything fails.
#[test]
#[cfg(target_os = "linux")]
fn commands_that_need_no_network_work_without_a_route() {
    let env = TestEnv::new();
    crate::support::chart::write(&env);
    let program = env!("CARGO_BIN_EXE_pintle");
    let run = |line: &str| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", program]).args(crate::support::words(line));
        command.env_clear().env("HOME", env.path()).current_dir(env.path()).output()
    };
    let allowed = run("version").is_ok_and(|output| output.status.success());
    if !allowed {
        // Some machines allow no namespaces; what is tested here does not depend on the machine.
        return;
    }
    for line in [
        "version -o json",
        "env",
        "help install",
        "completion bash",
        "create fresh",
        "lint web",
        "template web",
        "package web",
        "show all web-0.1.0.tgz",
        "check web",
        "unittest web",
        "images list web",
        "schema derive web",
        "values web --explain",
        "rehearse web",
        "install web web --cluster embedded:state.db",
        "list --cluster embedded:state.db",
        "repo list",
        "search repo web",
        "plugin list",
        "cache list",
    ] {
        let output = run(line).expect("unshare runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let may_fail = [
            "repo list",
            "search repo web",
            "unittest web",
            "rehearse web",
            "check web",
            "install web web --cluster embedded:state.db",
        ]
        .contains(&line);
        assert!(output.status.success() || may_fail, "{line}: {text}");
        for word in ["network is unreachable", "dns error", "Connection refused", "timed out"] {
            assert!(
                !text.to_lowercase().contains(&word.to_lowercase()),
                "{line} reaches for the network: {text}"
            );
        }
    }
}
