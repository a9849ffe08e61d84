//! Permissions of scripts: the prompt on a terminal, the flags, and what a release stores of the answer.

use crate::support;
use crate::support::cluster;
use crate::support::terminal;

use support::TestEnv;
use terminal::Terminal;

const PROMPT: &str = "Allow? (y, yes, n, no) > ";

fn has(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

/// A script with handlers of the events of all commands that run scripts.
const SCRIPT: &str = "for _, name in {'pre-render', 'pre-rollback', 'pre-test', 'pre-delete'} do events.on(name, function() end) end";

/// A chart with an empty script and the permissions that it requests.
fn chart(env: &TestEnv, name: &str, permissions: &str) {
    let own = name.rsplit('/').next().unwrap_or(name);
    env.write(&format!("{name}/Chart.yaml"), &format!("apiVersion: v2\nname: {own}\nversion: 0.1.0\n"))
        .write(
            &format!("{name}/templates/config.yaml"),
            &format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ .Release.Name }}}}-{own}\"}}\n"
            ),
        )
        .write(&format!("{name}/ext/lua/chart.lua"), SCRIPT)
        .write(&format!("{name}/ext/permissions.yaml"), permissions);
}

#[test]
fn l_052_on_a_terminal_the_user_is_asked_and_every_answer_counts() {
    let env = TestEnv::new();
    chart(&env, "web", "lua: [network, io]");
    let question = "Chart \"web\" is requesting the following additional permissions:\n\
                    \x20 - network: Access the network\n  - filesystem: Access the local filesystem\n\
                    Allow? (y, yes, n, no) > ";
    for (keys, code) in
        [("y\n", 0), ("yes\n", 0), ("YES\n", 0), (" y \n", 0), ("n\n", 2), ("no\n", 2), ("\u{4}", 2)]
    {
        let terminal = Terminal::start(&env, "template demo web");
        terminal.wait_for(PROMPT, 1).type_in(keys);
        let (ended, output, shown) = terminal.end();
        assert_eq!(ended, code, "{keys:?}: {shown}");
        assert!(shown.starts_with(question), "{shown}");
        assert_eq!(output.contains("kind: ConfigMap"), code == 0, "{keys:?}: {output}");
        assert_eq!(shown.contains("not granted: network, filesystem"), code == 2, "{keys:?}: {shown}");
    }
}

#[test]
fn l_052_what_is_no_answer_is_asked_again() {
    let env = TestEnv::new();
    chart(&env, "web", "lua: [os]");
    let terminal = Terminal::start(&env, "template demo web");
    for (times, keys) in [(1, "\n"), (2, "perhaps\n"), (3, "yess\n"), (4, "y\n")] {
        terminal.wait_for(PROMPT, times).type_in(keys);
    }
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.contains("kind: ConfigMap")), (0, true), "{shown}");
    assert_eq!(shown.matches(PROMPT).count(), 4);
}

#[test]
fn l_053_flags_answer_instead_of_the_user_on_a_terminal_too() {
    let env = TestEnv::new();
    chart(&env, "web", "lua: [network]");
    for (flags, code) in [
        ("--yes", 0),
        ("--accept-perms network", 0),
        ("--accept-perms io", 2),
        ("--accept-perms everything", 2),
    ] {
        let (ended, _, shown) = Terminal::start(&env, &format!("template demo web {flags}")).end();
        assert_eq!(ended, code, "{flags}: {shown}");
        assert!(!shown.contains("Allow?"), "{flags}: {shown}");
    }
}

#[test]
fn the_prompt_is_on_stderr_and_asked_once() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    chart(&env, "web", "");
    chart(&env, "web/charts/db", "lua: [os]");
    let terminal = Terminal::start(&env, &format!("install demo web -o json {flag}"));
    terminal.wait_for(PROMPT, 1).type_in("y\n");
    let (code, output, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    has(
        &shown,
        &["Chart \"web\" is requesting the following additional permissions:\n\
           \x20 - os: Read the environment and the clock (chart web/db)\n"],
    );
    assert_eq!(shown.matches(PROMPT).count(), 1);
    assert!(pintle_tree::json::read(output.trim().as_bytes()).is_ok(), "{output}");
    let (code, _, shown) = Terminal::start(&env, &format!("upgrade demo web {flag}")).end();
    assert_eq!((code, shown.contains("Allow?")), (0, false), "{shown}");
}

#[test]
fn ctrl_c_at_the_prompt_exits_without_changes() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    chart(&env, "web", "lua: [os]");
    let terminal = Terminal::start(&env, &format!("install demo web {flag}"));
    terminal.wait_for(PROMPT, 1).interrupt();
    let (code, output, _) = terminal.end();
    assert_eq!((code, output.as_str()), (130, ""));
    assert!(!env.pintle(&format!("list -a {flag}")).contains("demo"));
}

#[test]
fn status_shows_permissions_in_every_form_and_helm_s_records_keep_them() {
    let flag = cluster::start();
    for driver in ["secret", "configmap", "native"] {
        let env = TestEnv::new();
        let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        chart(&env, "web", "lua: [network, os]");
        has(&run("install demo web --yes"), &["exit 0"]);
        has(&run("status demo"), &["PERMISSIONS: network,os\n"]);
        has(&run("status demo -o json"), &[r#""permissions":["network","os"]"#]);
        has(&run("status demo -o yaml"), &["permissions:\n- network\n- os\n"]);
        has(&run("uninstall demo"), &["exit 0"]);
    }
    let env = TestEnv::new();
    chart(&env, "plain", "");
    has(&env.pintle(&format!("install plain plain {flag}")), &["exit 0"]);
    assert!(!env.pintle(&format!("status plain -o json {flag}")).contains("permissions"));
}

#[test]
fn a_permission_is_asked_for_again_by_a_chart_that_did_not_have_it() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.pintle(&format!("{line} {flag}"));
    chart(&env, "web", "lua: [network]");
    has(&run("install demo web --accept-perms network"), &["exit 0"]);
    has(&run("upgrade demo web"), &["exit 0"]);
    // A subchart needs its own grant, whatever its parent was granted.
    chart(&env, "web/charts/db", "lua: [network]");
    has(&run("upgrade demo web"), &["exit 2", "not granted: network (chart web/db)"]);
    has(&run("upgrade demo web --yes"), &["exit 0"]);
    has(&run("upgrade demo web"), &["exit 0"]);
    // So does another chart with the same name.
    chart(&env, "other", "lua: [network]");
    has(&run("upgrade demo other"), &["exit 2", "not granted: network"]);
    has(&run("status demo"), &["REVISION: 4", "PERMISSIONS: network"]);
}

#[test]
fn a_rollback_uses_the_permissions_that_were_granted() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.pintle(&format!("{line} {flag}"));
    chart(&env, "web", "lua: [network, os]");
    has(&run("install demo web --yes"), &["exit 0"]);
    chart(&env, "web", "");
    has(&run("upgrade demo web"), &["exit 0"]);
    assert!(!run("status demo").contains("PERMISSIONS"));
    has(&run("rollback demo 1"), &["exit 0"]);
    has(&run("status demo"), &["REVISION: 3", "PERMISSIONS: network,os"]);
    // The grant still holds: the scripts are the same.
    chart(&env, "web", "lua: [network, os]");
    has(&run("upgrade demo web"), &["exit 0"]);
    has(&run("uninstall demo"), &["exit 0"]);
}

#[test]
fn permissions_move_with_a_release_to_another_store() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str, driver: &str| {
        env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)])
    };
    chart(&env, "web", "lua: [os]");
    has(&run("install demo web --yes", "secret"), &["exit 0"]);
    has(&run("adopt demo", "native"), &["exit 0"]);
    has(&run("status demo", "native"), &["PERMISSIONS: os"]);
    has(&run("upgrade demo web", "native"), &["exit 0", "REVISION: 2"]);
}

#[test]
fn what_helm_takes_along_to_the_next_version_is_not_shown_as_its_permission() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", "secret")]);
    chart(&env, "web", "lua: [os]");
    has(&run("install demo web --yes"), &["exit 0"]);
    // Helm runs no scripts, and copies the labels of the last version to the next.
    has(&run("upgrade demo web --skip-scripts --labels pintle.dev/permissions=1.os"), &["exit 0"]);
    assert!(!run("status demo").contains("PERMISSIONS"));
}

#[test]
fn scripts_that_this_user_did_not_agree_to_ask_again_whatever_the_record_says() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let home = format!("{}/other", env.path().display());
    let as_other = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HOME", &home)]);
    let run = |line: &str| env.pintle(&format!("{line} {flag}"));
    chart(&env, "web", "lua: [os]");
    has(&run("install demo web --yes"), &["exit 0"]);
    has(&run("upgrade demo web"), &["exit 0"]);
    has(&as_other("status demo"), &["PERMISSIONS: os"]);
    for line in ["upgrade demo web", "rollback demo 1", "test demo", "uninstall demo"] {
        let shown = as_other(line);
        has(&shown, &["exit 2", "not granted: os", "--accept-perms os", "--yes"]);
        has(&run("status demo"), &["REVISION: 2", "STATUS: deployed"]);
    }
    let terminal = Terminal::start_with(&env, &format!("uninstall demo {flag}"), &[("HOME", &home)]);
    terminal.wait_for(PROMPT, 1).type_in("n\n");
    assert_eq!(terminal.end().0, 2);
    // One grant is enough for this user, too.
    has(&as_other("upgrade demo web --accept-perms os"), &["exit 0"]);
    has(&as_other("uninstall demo"), &["exit 0"]);
}

#[test]
fn a_chart_cannot_grant_itself_permissions_through_a_record_that_it_renders() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str, driver: &str| {
        env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)])
    };
    // A record in Helm's format, of a release whose scripts request everything and leave a trace.
    let author = TestEnv::new();
    chart(&author, "evil", "lua: [network, filesystem, os]");
    let script = "for _, name in {'pre-delete', 'pre-test', 'pre-upgrade', 'pre-render', 'pre-rollback'} do \
                  events.on(name, function() fs.write('trace', os.getenv('HOME')) end) end";
    author.write("evil/ext/lua/chart.lua", script);
    let theirs =
        |line: &str| author.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", "secret")]);
    has(&theirs("install victim evil --yes --set a=1 --skip-crds"), &["exit 0"]);
    let record = cluster::read(&flag, "/api/v1/namespaces/default/secrets/sh.helm.release.v1.victim.v1");
    let tree = pintle_tree::json::read(record.as_bytes()).expect("JSON");
    let data = tree.get("data").and_then(|data| data.get("release")).and_then(|text| text.as_str());
    let data = data.expect("a record").to_owned();
    has(&theirs("uninstall victim"), &["exit 0"]);
    std::fs::remove_file(author.path().join("trace")).expect("the author agreed to it");
    // The chart that renders it requests nothing.
    let secret = format!(
        "apiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\nmetadata:\n  name: sh.helm.release.v1.victim.v1\n  \
         labels: {{owner: helm, name: victim, status: deployed, version: '1', \
         pintle.dev/permissions: 1.network.filesystem.os}}\ndata: {{release: {data}}}\n"
    );
    chart(&env, "bait", "");
    env.write("bait/templates/record.yaml", &secret);
    for driver in ["native", "secret"] {
        has(&run("install bait bait", driver), &["exit 3", "looks like a release record"]);
        has(&run("template bait bait", driver), &["exit 3", "--allow-release-records"]);
    }
    // Under the name `helm` it is allowed with a warning, as anyone who can write Secrets could do the same.
    let shown = env.called("helm", &format!("install bait bait {flag}"), &[]);
    has(&shown, &["exit 0", "level=WARN", "looks like a release record"]);
    has(&run("status victim", "secret"), &["STATUS: deployed", "PERMISSIONS: network,filesystem,os"]);
    for (line, driver) in [
        ("uninstall victim", "secret"),
        ("uninstall victim", "native"),
        ("test victim", "secret"),
        ("rollback victim 1", "secret"),
        ("upgrade victim evil", "secret"),
    ] {
        env.write("evil/Chart.yaml", "apiVersion: v2\nname: evil\nversion: 0.1.0\n");
        env.write("evil/ext/lua/chart.lua", script);
        env.write("evil/ext/permissions.yaml", "lua: [network, filesystem, os]");
        let shown = run(line, driver);
        has(&shown, &["exit 2", "not granted: network, filesystem, os"]);
        assert!(!env.path().join("trace").exists(), "{line} ran the scripts");
    }
    has(&run("uninstall victim --skip-scripts", "secret"), &["exit 0"]);
}

#[test]
fn no_chart_brings_objects_that_look_like_records_wherever_it_puts_them() {
    let flag = cluster::start();
    let record = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: sh.helm.release.v1.x.v1\n";
    let hook = format!("{record}  annotations: {{helm.sh/hook: pre-install}}\n");
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, labels: \
                {owner: helm}}\n";
    let adding = |event: &str| {
        format!(
            "events.on('{event}', function(ctx) table.insert(ctx.objects, {{apiVersion = 'helm.sh/v3', \
             kind = 'Release', metadata = {{name = 'x'}}, spec = {{}}}}) end)"
        )
    };
    for (index, (path, text)) in [
        ("templates/record.yaml", record.to_owned()),
        ("templates/hook.yaml", hook),
        ("templates/list.yaml", list.to_owned()),
        ("crds/record.yaml", record.to_owned()),
        ("ext/lua/chart.lua", adding("post-render")),
        ("ext/lua/chart.lua", adding("pre-install")),
        ("charts/db/templates/record.yaml", record.to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let env = TestEnv::new();
        chart(&env, "web", "");
        chart(&env, "web/charts/db", "");
        env.write(&format!("web/{path}"), &text);
        let name = format!("demo{index}");
        let shown = env.pintle(&format!("install {name} web {flag}"));
        has(&shown, &["exit 3", "looks like a release record", "--allow-release-records"]);
        assert!(!env.pintle(&format!("list -a {flag}")).contains(&name), "{path}: nothing was recorded");
        let secrets = cluster::read(&flag, "/api/v1/secrets") + &cluster::read(&flag, "/api/v1/configmaps");
        assert!(!secrets.contains("sh.helm.release.v1.x"), "{path}: {secrets}");
    }
}

#[test]
fn grants_are_shown_and_revoked_and_a_damaged_file_says_so() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.pintle(&format!("{line} {flag}"));
    assert_eq!(env.pintle("lua grants"), "exit 0\n--- stdout\nNo permissions have been granted.\n");
    chart(&env, "web", "lua: [network, os]");
    has(&env.pintle("template demo web --yes"), &["exit 0"]);
    has(&env.pintle("lua grants"), &["No permissions have been granted."]);
    has(&run("install demo web --yes"), &["exit 0"]);
    has(&env.pintle("lua grants"), &["CHART", "web", "network,os", "sha256:"]);
    has(&env.pintle("lua grants -o json"), &[r#""permissions":["network","os"]"#]);
    // A grant for a release holds for the same scripts elsewhere.
    has(&env.pintle("template demo web"), &["exit 0"]);
    has(&env.pintle("lua grants --revoke db"), &["exit 2", "there is no grant for"]);
    has(&env.pintle("lua grants --revoke web"), &["exit 0", "revoked network,os of chart web (sha256:"]);
    has(&run("uninstall demo"), &["exit 2", "not granted: network, os"]);
    has(&run("install other web --yes"), &["exit 0"]);
    has(&env.pintle("lua grants --revoke-all"), &["exit 0", "revoked network,os of chart web (sha256:"]);
    assert_eq!(env.pintle("lua grants"), "exit 0\n--- stdout\nNo permissions have been granted.\n");
    let file = ".local/share/helm/script-grants.yaml";
    env.write(file, "damaged");
    has(&run("uninstall demo"), &["exit 2", file, "remove the file to be asked again"]);
    has(&env.pintle("lua grants"), &["exit 1", file]);
    has(&run("uninstall demo --yes"), &["exit 0", "cannot read the granted permissions from"]);
}

#[test]
fn reports_that_tell_of_refused_permissions_name_the_flag() {
    let env = TestEnv::new();
    chart(&env, "web", "lua: [network, os]");
    for command in ["lint web", "check web", "rehearse web"] {
        let shown = env.pintle(command);
        assert!(!shown.starts_with("exit 0"), "{command}: {shown}");
        has(&shown, &["`--accept-perms network,os` or `--yes`"]);
        let granted = env.pintle(&format!("{command} --yes"));
        assert!(!granted.contains("--accept-perms"), "{command}: {granted}");
    }
}
