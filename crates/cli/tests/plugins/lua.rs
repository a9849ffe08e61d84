//! Plugins of the runtime `lua`: created, installed with permissions, and run as commands, getters and post-renderers.

use insta::assert_snapshot;

use crate::support::TestEnv;
use crate::support::terminal::Terminal;

const PLUGINS: &str = ".local/share/helm/plugins";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/values.yaml", "name: plain\nreplicas: 1\n")
        .write(
            "web/templates/a.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Values.name }}\nspec:\n  replicas: {{ .Values.replicas }}\n  selector:\n    matchLabels: {app: web}\n  template:\n    metadata:\n      labels: {app: web}\n",
        );
    env
}

/// A plugin in Lua with a script and permissions, as if it had been copied to its place.
fn plugin(env: &TestEnv, name: &str, kind: &str, permissions: &str, script: &str) {
    let config = if kind == "getter" { format!("config:\n  protocols: [{name}]\n") } else { String::new() };
    env.write(
        &format!("{PLUGINS}/{name}/plugin.yaml"),
        &format!(
            "apiVersion: v1\nname: {name}\nversion: 0.1.0\ntype: {kind}/v1\nruntime: lua\n{config}runtimeConfig:\n  permissions: [{permissions}]\n"
        ),
    )
    .write(&format!("{PLUGINS}/{name}/plugin.lua"), script);
}

/// The folder of a plugin of this repository.
fn shipped(name: &str) -> String {
    format!("{}/../../plugins/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_plugin_of_each_type_is_created_and_works() {
    let env = env();
    assert_snapshot!(env.pintle("plugin create hello"), @"
    exit 0
    --- stdout
    Created plugin: hello
    ");
    assert_snapshot!(env.pintle("plugin install ./hello"), @"
    exit 0
    --- stdout
    Installing plugin from local directory (development mode)
    Installed plugin: hello
    ");
    assert_snapshot!(env.pintle("hello you -n prod"), @"
    exit 0
    --- stdout
    Hello, you! This is hello 0.1.0 in namespace prod.
    ");
    assert_snapshot!(env.helm("hello"), @"
    exit 0
    --- stdout
    Hello, world! This is hello 0.1.0 in namespace default.
    ");
    env.pintle("plugin create deep/local --type getter");
    env.pintle("plugin create mark --type postrenderer/v1");
    assert!(env.pintle("plugin install deep/local --yes").ends_with("Installed plugin: local\n"));
    assert!(env.pintle("plugin install mark").ends_with("Installed plugin: mark\n"));
    env.write("own.yaml", "name: fetched\n");
    let rendered = env.pintle("template web -f local://own.yaml --post-renderer mark");
    assert!(
        rendered.contains("name: fetched\n") && rendered.contains("example.com/rendered-by: mark"),
        "{rendered}"
    );
}

#[test]
fn what_cannot_be_created_is_refused_and_nothing_is_written() {
    let env = TestEnv::new();
    env.write("there/x", "");
    for (line, expected) in [
        ("plugin create there", "`there` exists already"),
        ("plugin create a.b", "`a.b` cannot be the name of a plugin"),
        ("plugin create a --type wasm", "there is no plugin type `wasm`"),
    ] {
        let refused = env.pintle(line);
        assert!(refused.starts_with("exit 2") && refused.contains(expected), "{refused}");
    }
    assert!(!env.path().join("a").exists() && !env.path().join("a.b").exists());
}

#[test]
fn permissions_are_asked_for_at_install_time_and_nothing_stays_without_them() {
    let env = env();
    env.pintle("plugin create local --type getter");
    assert_snapshot!(env.pintle("plugin install ./local"), @"
    exit 1
    --- stdout
    Installing plugin from local directory (development mode)
    --- stderr
    error: the plugin `local` requests permissions that were not granted: filesystem

    hint: --yes grants all of them, and --accept-perms filesystem those that are named
    ");
    assert!(!env.path().join(PLUGINS).join("local").exists());
    let terminal = Terminal::start(&env, "plugin install ./local");
    terminal.wait_for("Allow? (y, yes, n, no) > ", 1).type_in("yes\n");
    let (code, _, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("Plugin \"local\" is requesting the following permissions:"), "{screen}");
    env.write("own.yaml", "name: fetched\n");
    assert!(env.pintle("template web -f local://own.yaml").contains("name: fetched\n"));
    assert!(env.pintle("lua grants").contains("plugin local"));
    env.pintle("plugin uninstall local");
    assert!(!env.pintle("lua grants").contains("plugin local"), "a grant goes with its plugin");
}

#[test]
fn a_plugin_that_came_another_way_is_granted_by_name_and_a_part_is_enough() {
    let env = env();
    let script = "function main() print(permissions.os, permissions.network, os.getenv('GREETING')) end";
    plugin(&env, "both", "cli", "os, network", script);
    assert_snapshot!(env.pintle("both"), @"
    exit 1
    --- stderr
    error: the plugin `both` requests permissions that were not granted: network,os

    hint: `pintle plugin grant both` asks for them
    ");
    assert!(env.pintle("plugin grant both").starts_with("exit 1"), "nobody can be asked");
    assert!(
        env.pintle("plugin grant both --accept-perms os").ends_with("Granted permissions to plugin: both\n")
    );
    assert_snapshot!(env.called("pintle", "both", &[("GREETING", "hi")]), @"
    exit 0
    --- stdout
    true	false	hi
    ");
    plugin(&env, "both", "cli", "os, network, filesystem", script);
    assert!(env.pintle("both").starts_with("exit 1"), "what requests more is asked about again");
    plugin(&env, "odd", "cli", "everything", script);
    let odd = env.pintle("odd");
    assert!(
        odd.contains("runtimeConfig.permissions in plugin.yaml: there is no permission `everything`"),
        "{odd}"
    );
}

#[test]
fn what_needs_a_permission_says_so_and_secrets_are_not_settings() {
    let env = env();
    plugin(&env, "quiet", "cli", "", "function main() return fs.read('web/values.yaml') end");
    let refused = env.pintle("quiet");
    assert!(
        refused.contains(
            "`fs` needs the permission `filesystem`: the plugin must list it under runtimeConfig.permissions"
        ),
        "{refused}"
    );
    plugin(&env, "token", "cli", "", "function main() print(plugin.settings.HELM_KUBETOKEN, events) end");
    assert_snapshot!(env.pintle("token --kube-token secret"), @"
    exit 0
    --- stdout
    nil	nil
    ");
}

#[test]
fn streams_exit_codes_and_modules_are_those_of_a_program() {
    let env = env();
    plugin(
        &env,
        "cat",
        "cli",
        "",
        "local text = require('lib.text')\nfunction main(args)\n  io.stderr:write(text.shout(args[1]), '\\n')\n  io.write(1, ' ', #args, '\\n')\n  assert(io.read() == nil and io.read('a') == '')\n  return 7\nend\n",
    );
    env.write(
        &format!("{PLUGINS}/cat/lib/text.lua"),
        "return { shout = function(text) return string.upper(text) end }\n",
    );
    assert_snapshot!(env.helm("cat a --debug b"), @r#"
    exit 7
    --- stdout
    1 2
    --- stderr
    A
    Error: plugin "cat" exited with error
    "#);
}

#[test]
fn scripts_that_are_wrong_are_errors_with_file_and_line() {
    let env = env();
    for (script, expected) in [
        ("function main() error('no') end", "plugin.lua:1: no"),
        ("function main(", "plugin.lua:1"),
        ("print('loaded')", "plugin.lua defines no function `main`"),
        ("function main() return {} end", "`main` returned a table, and not an exit code"),
        ("function main() return 256 end", "exit codes are whole numbers from 0 to 255"),
        ("function main() io.write({}) end", "write takes strings and numbers, not a table"),
        ("function main() io.read('x') end", "there is no format \"x\""),
        ("function main() require('x') end", "there is no such module in the folder of the plugin"),
        ("function main() os.exit() end", "`os` needs the permission `os`"),
    ] {
        plugin(&env, "wrong", "cli", "", script);
        let outcome = env.pintle("wrong");
        assert!(outcome.starts_with("exit 1") && outcome.contains(expected), "{script}: {outcome}");
    }
    env.write(
        &format!("{PLUGINS}/wrong/plugin.yaml"),
        "apiVersion: v1\nname: wrong\nversion: 0.1.0\ntype: cli/v1\nruntime: lua\nruntimeConfig: {script: ../x.lua}\n",
    );
    let outcome = env.pintle("wrong");
    assert!(outcome.contains("it must be the relative path of a .lua file in the plugin"), "{outcome}");
}

#[test]
fn a_script_that_never_ends_is_stopped_where_the_caller_waits() {
    let env = env();
    plugin(&env, "spin", "postrenderer", "", "function main() while true do end end");
    let stopped =
        env.called("pintle", "template web --post-renderer spin", &[("PINTLE_PLUGIN_TIMEOUT", "200ms")]);
    assert!(stopped.starts_with("exit 1") && stopped.contains("plugin `spin`: plugin.lua:1: "), "{stopped}");
    plugin(
        &env,
        "flood",
        "postrenderer",
        "",
        "function main() while true do io.write(string.rep('x', 1e8)) end end",
    );
    let stopped = env.pintle("template web --post-renderer flood");
    assert!(stopped.contains("printed more than 256 MiB"), "{stopped}");
    plugin(&env, "nothing", "postrenderer", "", "function main() end");
    let stopped = env.pintle("template web --post-renderer nothing");
    assert!(stopped.contains("post-renderer \"nothing\" produced empty output"), "{stopped}");
}

#[test]
fn the_plugin_labels_adds_labels_and_annotations_but_changes_no_selector() {
    let env = env();
    env.pintle(&format!("plugin install {}", shipped("labels")));
    assert_snapshot!(env.pintle("template web --post-renderer labels --post-renderer-args team=web --post-renderer-args --annotation=example.com/who=me --post-renderer-args --pods"), @"
    exit 0
    --- stdout
    ---
    # Source: web/templates/a.yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      annotations:
        example.com/who: me
      labels:
        team: web
      name: plain
    spec:
      replicas: 1
      selector:
        matchLabels:
          app: web
      template:
        metadata:
          annotations:
            example.com/who: me
          labels:
            app: web
            team: web
    ");
    for (args, expected) in [
        ("--post-renderer-args team=-x", "team=-x: the value of a label"),
        ("--post-renderer-args what", "what is not an argument of labels"),
        ("--post-renderer-args a//b=c", "a//b is no valid key"),
        ("", "there is nothing to add"),
    ] {
        let refused = env.pintle(&format!("template web --post-renderer labels {args}"));
        assert!(refused.starts_with("exit 1") && refused.contains(expected), "{refused}");
    }
}

#[test]
fn the_plugin_envsubst_fills_variables_into_values() {
    let env = env();
    env.pintle(&format!("plugin install {} --yes", shipped("envsubst")));
    env.write("own.yaml", "name: \"${NAME}-$$5\"\nreplicas: ${COUNT:-2}\n");
    let rendered = env.called("pintle", "template web -f envsubst://own.yaml", &[("NAME", "filled")]);
    assert!(rendered.contains("name: filled-$5\n") && rendered.contains("replicas: 2\n"), "{rendered}");
    for (text, expected) in [
        ("a: 1\nname: ${NAME}\n", "own.yaml:2: NAME: it is not set"),
        ("name: ${NAME:?set it}\n", "own.yaml:1: NAME: set it"),
        ("name: ${NAME\n", "own.yaml:1: ${ is not closed"),
        ("name: ${a b}\n", "own.yaml:1: ${a b} is no variable"),
        ("name: ${LINES_}\n", "LINES_ has several lines"),
    ] {
        env.write("own.yaml", text);
        let refused = env.called("pintle", "template web -f envsubst://own.yaml", &[("LINES_", "a\nb")]);
        assert!(!refused.starts_with("exit 0") && refused.contains(expected), "{refused}");
    }
}
