//! `completion`, and the requests of its scripts.

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

#[test]
fn commands_are_completed_with_descriptions() {
    assert_snapshot!(TestEnv::new().helm("__complete ve"), @"
    exit 0
    --- stdout
    verify	verify the signature of a chart archive
    version	print the version of helm
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(TestEnv::new().helm("__completeNoDesc completion ''"), @"
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
fn only_commands_of_helm_are_offered_under_its_name() {
    let env = TestEnv::new();
    let offered = |answer: String| -> Vec<String> {
        let (_, choices) = answer.split_once("--- stdout\n").expect("there are choices");
        choices.lines().take_while(|line| !line.starts_with(':')).map(str::to_owned).collect()
    };
    let helm = offered(env.helm("__completeNoDesc plugin ''"));
    assert_eq!(helm, ["install", "list", "package", "uninstall", "update", "verify"]);
    assert!(offered(env.pintle("__completeNoDesc plugin ''")).contains(&"create".to_owned()));
}

#[test]
fn flags_are_offered_once_unless_they_repeat() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("__completeNoDesc env --kube-as-user x --kube-as-group y --kube-as"), @"
    exit 0
    --- stdout
    --kube-as-group
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(env.helm("__complete version --sh"), @"
    exit 0
    --- stdout
    --short	print only the version number
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
}

#[test]
fn values_of_flags_are_completed() {
    let env = TestEnv::new();
    env.write("k", "contexts: [{name: b, context: {cluster: east}}, {name: a, context: {cluster: west}}]");
    assert_snapshot!(env.helm("__complete env --color="), @"
    exit 0
    --- stdout
    never
    auto
    always
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(env.helm("__complete env --colour ''"), @"
    exit 0
    --- stdout
    never
    auto
    always
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(env.helm("__complete --kubeconfig k --kube-context ''"), @"
    exit 0
    --- stdout
    a	west
    b	east
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(env.helm("__complete env --kubeconfig ''"), @"
    exit 0
    --- stdout
    :0
    --- stderr
    Completion ended with directive: ShellCompDirectiveDefault
    ");
}

#[test]
fn events_kubernetes_versions_and_permissions_are_offered() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    assert_snapshot!(env.pintle("__complete lua run web pre-r"), @"
    exit 0
    --- stdout
    pre-render	After values are merged, before templates are rendered. There are no objects yet.
    pre-rollback	Before a stored version is deployed again, with its stored objects.
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(env.pintle("__completeNoDesc install web ./web --accept-perms ''"), @"
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
        let offered = env.pintle(&format!("__completeNoDesc {line} --kube-version ''"));
        assert!(offered.contains("\n1.37.") && offered.contains("\n1.34."), "{offered}");
    }
}

#[test]
fn completion_of_a_complete_command_line_says_so() {
    assert_snapshot!(TestEnv::new().helm("__complete version ''"), @"
    exit 0
    --- stdout
    _activeHelp_ This command does not take any more arguments (but may accept flags).
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
}

#[test]
fn invalid_completion_requests_get_no_choices() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("__complete nope ''"), @"
    exit 0
    --- stdout
    :0
    --- stderr
    [Debug] [Error] unable to find a command for arguments: [nope]
    Completion ended with directive: ShellCompDirectiveDefault
    ");
    assert_snapshot!(env.helm("__complete env --nope ''"), @"
    exit 0
    --- stdout
    :0
    --- stderr
    [Debug] [Error] Error while parsing flags from args [--nope]: unknown flag: --nope
    Completion ended with directive: ShellCompDirectiveDefault
    ");
    assert_snapshot!(env.helm("__complete"), @"
    exit 1
    --- stderr
    Error: requires at least 1 arg(s), only received 0
    ");
}

#[test]
fn completion_scripts_call_their_program() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = env.pintle(&format!("completion {shell}"));
        assert!(script.contains("pintle") && script.contains(" __complete "), "{shell}");
        assert!(!script.contains('@') || !script.contains("@PROGRAM@"), "{shell}");
        let plain = env.helm(&format!("completion {shell} --no-descriptions"));
        assert!(plain.contains("helm") && plain.contains(" __completeNoDesc "), "{shell}");
    }
}

/// Runs the bash script, with only the given terminal width.
fn ask_bash(env: &TestEnv, setup: &str, words: &str, line: &str) -> String {
    let script = env.helm("completion bash");
    let (_, script) = script.split_once("--- stdout\n").expect("the script is on standard output");
    let count = words.split(' ').count() - 1;
    let text = format!(
        "{script}\ncompopt() {{ echo \"compopt $*\"; }}\n{setup}\nCOMP_WORDS=({words}) COMP_CWORD={count}\n\
         COMP_LINE='{line}' COMP_POINT={}\n__start_helm\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        line.len()
    );
    let output = std::process::Command::new("bash")
        .args(["--norc", "-O", "expand_aliases", "-c", &text])
        .env_remove("COLUMNS")
        .env("HELM", env.linked("helm"))
        .current_dir(env.path())
        .output()
        .expect("bash can be run");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_bash_script_completes() {
    let env = TestEnv::new();
    let ask = |words: &str, line: &str| ask_bash(&env, "COLUMNS=60", words, line);
    assert_snapshot!(ask("$HELM versi", "helm versi"), @"
    compopt +o default
    version
    ");
    assert_snapshot!(ask("$HELM completion ''", "helm completion "), @"
    compopt +o default
    bash        (print the completion script for bash)
    fish        (print the completion script for fish)
    powershell  (print the completion script for PowerShell)
    zsh         (print the completion script for zsh)
    ");
    assert_snapshot!(ask("$HELM env --color = al", "helm env --color=al"), @"
    compopt +o default
    always
    ");
    assert_snapshot!(ask("$HELM env --kubeconfig ''", "helm env --kubeconfig "), @"");
}

#[test]
fn the_bash_script_describes_choices_only_where_there_is_a_width() {
    let env = TestEnv::new();
    let ask = |setup: &str| ask_bash(&env, setup, "$HELM completion ''", "helm completion ");
    assert_snapshot!(ask(""), @"
    compopt +o default
    bash
    fish
    powershell
    zsh
    ");
    assert_snapshot!(ask("COLUMNS=24"), @"
    compopt +o default
    bash        (print the…)
    fish        (print the…)
    powershell  (print the…)
    zsh         (print the…)
    ");
    assert_snapshot!(ask("COLUMNS=17"), @"
    compopt +o default
    bash  (print th…)
    fish  (print th…)
    powershell  (pr…)
    zsh  (print the…)
    ");
}

#[test]
fn the_bash_script_evaluates_what_was_typed_and_runs_none_of_it() {
    let env = TestEnv::new();
    env.write("k", "contexts: [{name: east, context: }]");
    let ask = |setup: &str, words: &str| ask_bash(&env, setup, words, "helm ...");
    // The interactive shell has the alias; the words are as typed, with their quotes.
    assert_snapshot!(ask("alias h=\"$HELM\"", "h versi"), @"
    compopt +o default
    version
    ");
    let typed = r#"$HELM env --kubeconfig '"$PWD/k"' --kube-context e"#;
    assert_snapshot!(ask("", typed), @"
    compopt +o default
    east
    ");
    ask("", "$HELM --kubeconfig '$(touch ran)' versi");
    ask("", "$HELM --kubeconfig '`touch ran`' versi");
    ask("", "$HELM '>' ran versi");
    assert!(!env.path().join("ran").exists(), "completing is not running");
}

#[test]
fn flags_of_all_commands_may_stand_before_the_request() {
    let env = TestEnv::new();
    env.write("k", "contexts: [{name: a, context: }, {name: b}, {name: c, context: {cluster: east}}]");
    assert_snapshot!(env.helm("--kubeconfig k --debug __complete env --kube-context ''"), @"
    exit 0
    --- stdout
    a
    b
    c	east
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
    assert_snapshot!(env.helm("--kubeconfig=k __completeNoDesc version --sh"), @"
    exit 0
    --- stdout
    --short
    :4
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoFileComp
    ");
}

#[test]
fn scripts_begin_and_register_as_cobra_s_do() {
    let env = TestEnv::new();
    let first = |shell: &str| env.helm(&format!("completion {shell}")).lines().nth(2).map(str::to_owned);
    assert_eq!(
        first("bash").as_deref(),
        Some("# bash completion V2 for helm                                 -*- shell-script -*-")
    );
    assert_eq!(first("zsh").as_deref(), Some("#compdef helm"));
    assert_eq!(
        first("fish").as_deref(),
        Some("# fish completion for helm                                 -*- shell-script -*-")
    );
    assert_eq!(
        first("powershell").as_deref(),
        Some("# powershell completion for helm                                 -*- shell-script -*-")
    );
    assert!(env.helm("completion bash").contains("\ncomplete -o default -F __start_helm helm\n"));
    assert!(env.helm("completion zsh").contains("\ncompdef _helm helm\n"));
    assert!(env.helm("completion powershell").contains("-ScriptBlock ${__helmCompleterBlock}"));
}

/// What the completion tests of Helm's acceptance suite ask a renamed binary, and the choices that they expect.
const OF_A_RENAMED_BINARY: [(&str, &str); 7] = [
    ("lis", "list"),
    ("completion z", "zsh"),
    ("repo remove zztest", "zztest1 zztest2"),
    ("plugin update pus", "push-artifactory push-plugin"),
    ("upgrade --kube-context d", "dev1 dev2"),
    ("--kubecon", "--kubeconfig"),
    ("get hooks --kubec", "--kubeconfig"),
];

/// As the completion tests of Helm's acceptance suite: the script of a renamed binary completes that name, by its path and
/// on the `PATH`. These are the 14 checks of the suite for bash.
#[test]
fn a_renamed_binary_is_completed_by_its_own_script() {
    let env = TestEnv::new();
    env.write(
        ".config/helm/repositories.yaml",
        "apiVersion: v1\nrepositories: [{name: nginx, url: https://a.example.com}, \
         {name: zztest1, url: https://b.example.com}, {name: zztest2, url: https://c.example.com}]\n",
    );
    for plugin in ["2to3", "push-plugin", "push-artifactory"] {
        let text = format!("name: \"{plugin}\"\nversion: \"0.3.0\"\ndescription: a plugin\n");
        env.write(&format!(".local/share/helm/plugins/{plugin}/plugin.yaml"), &text);
    }
    let configs: Vec<String> = ["dev1", "dev2", "accept", "prod"]
        .iter()
        .map(|name| {
            let text = format!("kind: Config\napiVersion: v1\ncontexts:\n- context:\n  name: {name}\n");
            env.write(&format!("config.{name}"), &text);
            env.path().join(format!("config.{name}")).display().to_string()
        })
        .collect();
    let program = env.linked("myhelm");
    let script = env.called("myhelm", "completion bash", &[]);
    let (_, script) = script.split_once("--- stdout\n").expect("the script is on standard output");
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    for typed in ["myhelm", "\"$PROGRAM\""] {
        for (line, choices) in OF_A_RENAMED_BINARY {
            let text = format!(
                "{script}\ncompopt() {{ :; }}\nname=$(basename {typed})\n\
                 registered=$(complete -p \"$name\")\nregistered=${{registered#*-F }}\n\
                 COMP_WORDS=({typed} {line}) COMP_LINE={typed}' {line}'\n\
                 COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) COMP_POINT=${{#COMP_LINE}}\n\
                 ${{registered%% *}}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
            );
            let output = std::process::Command::new("bash")
                .args(["--norc", "-c", &text])
                .current_dir(env.path())
                .env_clear()
                .envs([("HOME", env.path()), ("PROGRAM", &program)])
                .envs([("PATH", &path), ("KUBECONFIG", &configs.join(":"))])
                .output()
                .expect("bash can be run");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{typed} {line}");
            let stdout = String::from_utf8_lossy(&output.stdout);
            let mut found: Vec<&str> = stdout.split_whitespace().collect();
            found.sort_unstable();
            assert_eq!(found.join(" "), choices, "{typed} {line}");
        }
    }
    assert!(env.called("myhelm", "completion zsh", &[]).contains("\n#compdef helm myhelm\n"));
}

#[test]
fn plugin_commands_offer_their_flags_and_the_global_ones_without_help() {
    let env = TestEnv::new();
    let folder = ".local/share/helm/plugins/tool";
    env.write(&format!("{folder}/plugin.yaml"), "name: tool\nversion: 1.0.0\ncommand: echo\n");
    env.write(
        &format!("{folder}/completion.yaml"),
        "flags: [h, here]\ncommands: [{name: run, flags: [label]}]\n",
    );
    let offered = |line: &str| -> Vec<String> {
        let answer = env.helm(&format!("__completeNoDesc {line}"));
        answer
            .lines()
            .filter(|line| line.starts_with('-') && !line.starts_with("---"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(offered("tool --h"), ["--here"]);
    assert_eq!(offered("tool -h"), ["-h"]);
    assert_eq!(offered("tool run --h"), [] as [&str; 0]);
    assert_eq!(offered("tool run --l"), ["--label"]);
    // A global flag is offered once; one of the plugin always, because only the plugin knows whether it repeats.
    assert_eq!(offered("tool -n x run --nam"), [] as [&str; 0]);
    assert_eq!(offered("tool run --kube-as-group=x --kube-as-g"), ["--kube-as-group"]);
    assert_eq!(offered("tool run --label --l"), ["--label"]);
}

#[test]
fn revisions_come_in_the_order_in_which_helm_s_records_are_listed() {
    let env = TestEnv::new();
    env.write("c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n");
    env.write("c/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    let cluster = crate::support::cluster::start();
    for _ in 0..11 {
        env.helm(&format!("upgrade --install web c --history-max 0 {cluster}"));
    }
    let order = |answer: String| -> Vec<u64> {
        answer.lines().filter_map(|line| line.split('\t').next()?.parse().ok()).collect()
    };
    let helm = order(env.helm(&format!("__complete rollback web {cluster} ''")));
    assert_eq!(helm, [1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]);
    let ours =
        env.called("pintle", &format!("__complete rollback web {cluster} ''"), &[("HELM_DRIVER", "secret")]);
    assert_eq!(order(ours), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn debugging_adds_nothing_to_completion() {
    let env = TestEnv::new();
    let cluster = crate::support::cluster::start();
    let quiet = env.helm(&format!("__complete status {cluster} a"));
    assert_eq!(env.helm(&format!("__complete status --debug {cluster} a")), quiet);
}

#[test]
fn charts_begin_with_a_path() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("__completeNoDesc install web ''"), @"
    exit 0
    --- stdout
    oci://
    https://
    http://
    file://
    ./
    /
    :2
    --- stderr
    Completion ended with directive: ShellCompDirectiveNoSpace
    ");
    assert_snapshot!(env.helm("__complete show chart we"), @"
    exit 0
    --- stdout
    :0
    --- stderr
    Completion ended with directive: ShellCompDirectiveDefault
    ");
}

#[test]
fn templates_and_value_paths_of_a_chart_are_offered() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "image: {tag: a}\nreplicas: 1\n");
    env.write("web/templates/a.yaml", "").write("web/templates/_b.tpl", "");
    let templates = env.pintle("__complete template web --show-only ''");
    assert!(templates.contains("templates/a.yaml\n") && !templates.contains("_b.tpl"), "{templates}");
    let paths = env.pintle("__complete install demo web --set ''");
    assert!(paths.contains("image.tag=\t\"a\"\n") && paths.contains("replicas=\t1\n"), "{paths}");
    // Helm offers files.
    assert!(!env.helm("__complete template web --show-only ''").contains("templates/a.yaml"));
}
