//! `completion`, and what the scripts ask for.

use crate::support;

use insta::assert_snapshot;
use support::Place;

#[test]
fn commands_are_offered_with_what_they_do() {
    assert_snapshot!(Place::new().helm("__complete ve"), @"
    exit 0
    --- stdout
    version	print the version of helm
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(Place::new().helm("__completeNoDesc completion ''"), @"
    exit 0
    --- stdout
    bash
    fish
    powershell
    zsh
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
}

#[test]
fn flags_are_offered_once_unless_they_repeat() {
    let place = Place::new();
    assert_snapshot!(place.helm("__completeNoDesc env --kube-as-user x --kube-as-group y --kube-as"), @"
    exit 0
    --- stdout
    --kube-as-group
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(place.helm("__complete version --sh"), @"
    exit 0
    --- stdout
    --short	print just the number
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
}

#[test]
fn values_are_offered_where_they_are_known() {
    let place = Place::new();
    place.write("k", "contexts: [{name: b, context: {cluster: east}}, {name: a, context: {cluster: west}}]");
    assert_snapshot!(place.helm("__complete env --color="), @"
    exit 0
    --- stdout
    never
    auto
    always
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(place.helm("__complete env --colour ''"), @"
    exit 0
    --- stdout
    never
    auto
    always
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(place.helm("__complete --kubeconfig k --kube-context ''"), @"
    exit 0
    --- stdout
    a	west
    b	east
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(place.helm("__complete env --kubeconfig ''"), @"
    exit 0
    --- stdout
    :0
    --- stderr
    Completion ended with directive: ShellCompDirectiveDefault
    ");
}

#[test]
fn events_kubernetes_versions_and_permissions_are_offered() {
    let place = Place::new();
    place.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    assert_snapshot!(place.pintle("__complete lua run web pre-r"), @"
    exit 0
    --- stdout
    pre-render	After values are merged, before templates are rendered. There are no objects yet.
    pre-rollback	Before a stored version is delivered again, with its stored objects.
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(place.pintle("__completeNoDesc install web ./web --accept-perms ''"), @"
    exit 0
    --- stdout
    network
    filesystem
    os
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    for line in ["rehearse ./web", "cluster serve"] {
        let offered = place.pintle(&format!("__completeNoDesc {line} --kube-version ''"));
        assert!(offered.contains("\n1.36.") && offered.contains("\n1.34."), "{offered}");
    }
}

#[test]
fn a_finished_command_line_says_so() {
    assert_snapshot!(Place::new().helm("__complete version ''"), @"
    exit 0
    --- stdout
    _activeHelp_ This command does not take any more arguments (but may accept flags).
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
}

#[test]
fn nonsense_is_answered_with_nothing() {
    let place = Place::new();
    assert_snapshot!(place.helm("__complete nope ''"), @"
    exit 0
    --- stdout
    :0
    --- stderr
    [Debug] [Error] unable to find a command for arguments: [nope]
    Completion ended with directive: ShellCompDirectiveDefault
    ");
    assert_snapshot!(place.helm("__complete env --nope ''"), @"
    exit 0
    --- stdout
    :0
    --- stderr
    [Debug] [Error] Error while parsing flags from args [--nope]: unknown flag: --nope
    Completion ended with directive: ShellCompDirectiveDefault
    ");
    assert_snapshot!(place.helm("__complete"), @"
    exit 1
    --- stderr
    Error: requires at least 1 arg(s), only received 0
    ");
}

#[test]
fn scripts_ask_the_program_that_they_are_for() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = place.pintle(&format!("completion {shell}"));
        assert!(script.contains("pintle") && script.contains(" __complete "), "{shell}");
        assert!(!script.contains('@') || !script.contains("@PROGRAM@"), "{shell}");
        let plain = place.helm(&format!("completion {shell} --no-descriptions"));
        assert!(plain.contains("helm") && plain.contains(" __completeNoDesc "), "{shell}");
    }
}

#[test]
fn the_bash_script_completes() {
    let place = Place::new();
    let script = place.pintle("completion bash");
    let (_, script) = script.split_once("--- stdout\n").expect("the script is on standard output");
    let ask = |words: &str, line: &str| {
        let count = words.split(' ').count();
        let program = env!("CARGO_BIN_EXE_pintle");
        let text = format!(
            "{script}\ncompopt() {{ echo \"compopt $*\"; }}\nCOMP_WORDS=({program} {words}) COMP_CWORD={count}\n\
             COMP_LINE='{line}' COMP_POINT={}\n__pintle_complete\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            line.len()
        );
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c", &text])
            .current_dir(place.path())
            .output()
            .expect("bash can be run");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_snapshot!(ask("versi", "pintle versi"), @"version");
    assert_snapshot!(ask("completion ''", "pintle completion "), @"
    bash        (print the completion script for bash)
    fish        (print the completion script for fish)
    powershell  (print the completion script for PowerShell)
    zsh         (print the completion script for zsh)
    ");
    assert_snapshot!(ask("env --color = al", "pintle env --color=al"), @"always");
    assert_snapshot!(ask("env --kubeconfig ''", "pintle env --kubeconfig "), @"compopt -o bashdefault -o default");
}
