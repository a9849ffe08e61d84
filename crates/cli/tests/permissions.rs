//! Permissions of scripts: the question on a terminal, the flags, and what a release keeps of the answer.

use crate::support;
use crate::support::cluster;
use crate::support::terminal;

use support::Place;
use terminal::Terminal;

const PROMPT: &str = "Allow? (y, yes, n, no) > ";

fn has(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

/// A chart whose script does nothing, and what it asks for.
fn chart(place: &Place, name: &str, permissions: &str) {
    let own = name.rsplit('/').next().unwrap_or(name);
    place
        .write(&format!("{name}/Chart.yaml"), &format!("apiVersion: v2\nname: {own}\nversion: 0.1.0\n"))
        .write(
            &format!("{name}/templates/config.yaml"),
            &format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ .Release.Name }}}}-{own}\"}}\n"
            ),
        )
        .write(&format!("{name}/ext/lua/chart.lua"), "events.on('pre-render', function() end)")
        .write(&format!("{name}/ext/permissions.yaml"), permissions);
}

#[test]
fn l_052_on_a_terminal_the_user_is_asked_and_every_answer_counts() {
    let place = Place::new();
    chart(&place, "web", "lua: [network, io]");
    let question = "The chart web asks for permissions:\n- network: Access the network\n\
                    - filesystem: Access the local filesystem\nAllow? (y, yes, n, no) > ";
    for (keys, code) in
        [("y\n", 0), ("yes\n", 0), ("YES\n", 0), (" y \n", 0), ("n\n", 2), ("no\n", 2), ("\u{4}", 2)]
    {
        let terminal = Terminal::start(&place, "template demo web");
        terminal.wait_for(PROMPT, 1).type_in(keys);
        let (ended, output, shown) = terminal.end();
        assert_eq!(ended, code, "{keys:?}: {shown}");
        assert!(shown.starts_with(question), "{shown}");
        assert_eq!(output.contains("kind: ConfigMap"), code == 0, "{keys:?}: {output}");
        assert_eq!(shown.contains("not granted: network,filesystem"), code == 2, "{keys:?}: {shown}");
    }
}

#[test]
fn l_052_what_is_no_answer_is_asked_again() {
    let place = Place::new();
    chart(&place, "web", "lua: [os]");
    let terminal = Terminal::start(&place, "template demo web");
    for (times, keys) in [(1, "\n"), (2, "perhaps\n"), (3, "yess\n"), (4, "y\n")] {
        terminal.wait_for(PROMPT, times).type_in(keys);
    }
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.contains("kind: ConfigMap")), (0, true), "{shown}");
    assert_eq!(shown.matches(PROMPT).count(), 4);
}

#[test]
fn l_053_flags_answer_instead_of_the_user_on_a_terminal_too() {
    let place = Place::new();
    chart(&place, "web", "lua: [network]");
    for (flags, code) in [
        ("--yes", 0),
        ("--accept-perms network", 0),
        ("--accept-perms io", 2),
        ("--accept-perms everything", 2),
    ] {
        let (ended, _, shown) = Terminal::start(&place, &format!("template demo web {flags}")).end();
        assert_eq!(ended, code, "{flags}: {shown}");
        assert!(!shown.contains("Allow?"), "{flags}: {shown}");
    }
}

#[test]
fn the_question_goes_elsewhere_than_data_and_is_asked_once() {
    let (place, flag) = (Place::new(), cluster::start());
    chart(&place, "web", "");
    chart(&place, "web/charts/db", "lua: [os]");
    let terminal = Terminal::start(&place, &format!("install demo web -o json {flag}"));
    terminal.wait_for(PROMPT, 1).type_in("y\n");
    let (code, output, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    has(
        &shown,
        &["The chart web asks for permissions:\n- os: Read the environment and the clock (chart web/db)\n"],
    );
    assert_eq!(shown.matches(PROMPT).count(), 1);
    assert!(pintle_tree::json::read(output.trim().as_bytes()).is_ok(), "{output}");
    let (code, _, shown) = Terminal::start(&place, &format!("upgrade demo web {flag}")).end();
    assert_eq!((code, shown.contains("Allow?")), (0, false), "{shown}");
}

#[test]
fn ctrl_c_at_the_question_ends_the_program_and_nothing_was_done() {
    let (place, flag) = (Place::new(), cluster::start());
    chart(&place, "web", "lua: [os]");
    let terminal = Terminal::start(&place, &format!("install demo web {flag}"));
    terminal.wait_for(PROMPT, 1).interrupt();
    let (code, output, _) = terminal.end();
    assert_eq!((code, output.as_str()), (130, ""));
    assert!(!place.pintle(&format!("list -a {flag}")).contains("demo"));
}

#[test]
fn status_shows_permissions_in_every_form_and_helm_s_records_keep_them() {
    let flag = cluster::start();
    for driver in ["secret", "configmap", "native"] {
        let place = Place::new();
        let run = |line: &str| place.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        chart(&place, "web", "lua: [network, os]");
        has(&run("install demo web --yes"), &["exit 0"]);
        has(&run("status demo"), &["PERMISSIONS: network,os\n"]);
        has(&run("status demo -o json"), &[r#""permissions":["network","os"]"#]);
        has(&run("status demo -o yaml"), &["permissions:\n- network\n- os\n"]);
        has(&run("uninstall demo"), &["exit 0"]);
    }
    let place = Place::new();
    chart(&place, "plain", "");
    has(&place.pintle(&format!("install plain plain {flag}")), &["exit 0"]);
    assert!(!place.pintle(&format!("status plain -o json {flag}")).contains("permissions"));
}

#[test]
fn a_permission_is_asked_for_again_by_a_chart_that_did_not_have_it() {
    let (place, flag) = (Place::new(), cluster::start());
    let run = |line: &str| place.pintle(&format!("{line} {flag}"));
    chart(&place, "web", "lua: [network]");
    has(&run("install demo web --accept-perms network"), &["exit 0"]);
    has(&run("upgrade demo web"), &["exit 0"]);
    // The subchart is someone else's, whatever its parent was granted.
    chart(&place, "web/charts/db", "lua: [network]");
    has(&run("upgrade demo web"), &["exit 2", "not granted: network"]);
    has(&run("upgrade demo web --yes"), &["exit 0"]);
    has(&run("upgrade demo web"), &["exit 0"]);
    // So is another chart under the same name.
    chart(&place, "other", "lua: [network]");
    has(&run("upgrade demo other"), &["exit 2", "not granted: network"]);
    has(&run("status demo"), &["REVISION: 4", "PERMISSIONS: network"]);
}

#[test]
fn going_back_to_more_permissions_is_going_back_to_what_was_granted() {
    let (place, flag) = (Place::new(), cluster::start());
    let run = |line: &str| place.pintle(&format!("{line} {flag}"));
    chart(&place, "web", "lua: [network, os]");
    has(&run("install demo web --yes"), &["exit 0"]);
    chart(&place, "web", "");
    has(&run("upgrade demo web"), &["exit 0"]);
    assert!(!run("status demo").contains("PERMISSIONS"));
    has(&run("rollback demo 1"), &["exit 0"]);
    has(&run("status demo"), &["REVISION: 3", "PERMISSIONS: network,os"]);
    // What was taken away in between is granted again by going back, so that it is not asked for.
    chart(&place, "web", "lua: [network, os]");
    has(&run("upgrade demo web"), &["exit 0"]);
    has(&run("uninstall demo"), &["exit 0"]);
}

#[test]
fn permissions_move_with_a_release_to_another_store() {
    let (place, flag) = (Place::new(), cluster::start());
    let run = |line: &str, driver: &str| {
        place.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)])
    };
    chart(&place, "web", "lua: [os]");
    has(&run("install demo web --yes", "secret"), &["exit 0"]);
    has(&run("adopt demo", "native"), &["exit 0"]);
    has(&run("status demo", "native"), &["PERMISSIONS: os"]);
    has(&run("upgrade demo web", "native"), &["exit 0", "REVISION: 2"]);
}

#[test]
fn what_helm_takes_along_to_the_next_version_is_no_permission() {
    let (place, flag) = (Place::new(), cluster::start());
    let run = |line: &str| place.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", "secret")]);
    chart(&place, "web", "lua: [os]");
    has(&run("install demo web --yes"), &["exit 0"]);
    // Helm runs no scripts, and carries the labels of the last version to the next.
    has(&run("upgrade demo web --skip-scripts --labels pintle.dev/permissions=1.os"), &["exit 0"]);
    assert!(!run("status demo").contains("PERMISSIONS"));
    has(&run("upgrade demo web"), &["exit 2", "not granted: os"]);
    has(&run("rollback demo 2"), &["exit 2", "not granted: os"]);
    has(&run("uninstall demo"), &["exit 2", "not granted: os"]);
    has(&run("uninstall demo --skip-scripts"), &["exit 0"]);
}
