//! Charts with scripts: the worked examples, permissions, and how commands use them.

use crate::repositories::server::Server;
use crate::support;
use crate::support::cluster;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use support::TestEnv;

/// The path of a worked example.
fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts").join(name);
    folder.canonicalize().expect("it is there").display().to_string()
}

/// The ten worked examples, their flags and their expected results.
const EXAMPLES: [(&str, &str, &[&str]); 10] = [
    ("labels", "", &["example.com/team: blue", "example.com/release: demo"]),
    ("sized", "--set size=large", &["replicas: \"5\"", "memory: \"4Gi\""]),
    ("checked", "--set tls=true", &["chart checked: tls has no effect without ingress.enabled"]),
    ("password", "--set password=kept", &["password: \"kept\""]),
    ("cluster-aware", "--set storageClass=fast", &["storageClass: \"fast\""]),
    ("readiness", "", &["greeting: \"hello\""]),
    ("parent", "", &["greeting: \"from the parent, changed by the subchart, and by the parent after it\""]),
    ("no-templates", "", &["name: demo-north", "languages: no,sv", "name: demo-south"]),
    ("with-library", "", &["name: demo-one", "name: demo-two", "app.kubernetes.io/managed-by: Helm"]),
    ("permissions", "--yes", &["greeting: \"hello\""]),
];

fn has(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

/// A chart with one ConfigMap and a script.
fn chart(env: &TestEnv, name: &str, script: &str, permissions: &str) {
    env.write(&format!("{name}/Chart.yaml"), &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"))
        .write(&format!("{name}/values.yaml"), "greeting: hello\n")
        .write(
            &format!("{name}/templates/config.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\n\
             data: {greeting: \"{{ .Values.greeting }}\"}\n",
        )
        .write(&format!("{name}/ext/lua/chart.lua"), script);
    if !permissions.is_empty() {
        env.write(&format!("{name}/ext/permissions.yaml"), permissions);
    }
}

/// A script that logs every event.
const TELLS: &str = "for _, name in {'chart-loaded', 'pre-render', 'post-render', 'pre-validate', 'post-validate', \
    'post-template', 'pre-lint', 'pre-package', 'pre-install', 'post-install', 'pre-upgrade', 'post-upgrade', \
    'pre-rollback', 'post-rollback', 'pre-delete', 'post-delete', 'pre-test', 'post-test', 'wait', 'watch', 'ready', \
    'pre-dependency-build', 'post-dependency-build', 'pre-create', 'post-create'} do
    events.on(name, function(ctx) log.info('at ' .. ctx.event) end)
end";

/// The events that a script logged, in order.
fn printed(shown: &str) -> String {
    let events: Vec<&str> =
        shown.lines().filter_map(|line| line.split_once(": at ").map(|(_, event)| event)).collect();
    events.join(" ")
}

#[test]
fn the_worked_examples_render_and_lint() {
    let env = TestEnv::new();
    for (name, flags, parts) in EXAMPLES {
        let chart = example(name);
        has(&env.pintle(&format!("template demo {chart} {flags}")), parts);
        assert_eq!(env.pintle(&format!("lua check {chart}")), "exit 0\n--- stdout\nNo problems found.\n");
        has(&env.pintle(&format!("lint {chart} --yes")), &["1 chart(s) linted, 0 chart(s) failed"]);
        let once = env.helm(&format!("template demo {chart} {flags}"));
        has(&once, &["exit 0"]);
        assert_eq!(once, env.helm(&format!("template demo {chart} {flags}")), "two runs of {name} differ");
    }
}

#[test]
fn the_guide_shows_the_scripts_as_they_are() {
    let guide = include_str!("../../../docs/guide/lua.md");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts");
    let mut shown = 0;
    for (before, after) in
        guide.match_indices("`:\n\n```").map(|(at, mark)| (&guide[..at], &guide[at + mark.len()..]))
    {
        let name = before.rsplit('`').next().unwrap_or_default();
        let (_, rest) = after.split_once('\n').expect("the fence names a language");
        let text = std::fs::read_to_string(folder.join(name)).expect("the file is there");
        assert!(rest.starts_with(&format!("{text}```\n")), "{name} is not what the guide shows");
        shown += 1;
    }
    assert!(
        EXAMPLES.iter().all(|(name, ..)| guide.contains(&format!("`{name}/ext/"))) && shown >= 14,
        "{shown}"
    );
    let folders = std::fs::read_dir(&folder).expect("it can be listed").count();
    assert_eq!(folders, EXAMPLES.len(), "every example is tested");
}

#[test]
fn the_worked_examples_are_installed_and_upgraded_in_a_cluster() {
    let flag = cluster::start();
    for driver in ["secret", "native"] {
        let env = TestEnv::new();
        let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        for (name, flags, parts) in EXAMPLES {
            let (chart, release) = (example(name), format!("{name}-{driver}"));
            let installed = run(&format!("install {release} {chart} {flags} --wait"));
            has(&installed, &["exit 0", "STATUS: deployed"]);
            let upgraded = run(&format!("upgrade {release} {chart} {flags} --wait"));
            has(&upgraded, &["exit 0", "REVISION: 2"]);
            let parts: Vec<String> = parts.iter().map(|part| part.replace("demo", &release)).collect();
            let shown = format!("{upgraded}{}", run(&format!("get manifest {release}")));
            has(&shown, &parts.iter().map(String::as_str).collect::<Vec<_>>());
            has(&run(&format!("uninstall {release}")), &["exit 0"]);
        }
    }
}

#[test]
fn a_generated_password_is_kept_on_upgrade() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let chart = example("password");
    let manifest = || env.pintle(&format!("get manifest keeper {flag}"));
    has(&env.pintle(&format!("install keeper {chart} {flag}")), &["exit 0"]);
    let first = manifest();
    has(&env.pintle(&format!("upgrade keeper {chart} {flag}")), &["REVISION: 2"]);
    // The embedded API keeps `stringData` as the server does: in `data`.
    assert_eq!(manifest(), first);
}

#[test]
fn every_command_emits_events_to_the_scripts_of_its_chart() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    chart(&env, "web", TELLS, "");
    let at = |line: &str| {
        let shown = env.pintle(line);
        assert!(shown.starts_with("exit 0\n"), "{line}: {shown}");
        printed(&shown)
    };
    assert_eq!(at("template demo web"), "chart-loaded pre-render post-render post-template");
    assert_eq!(at("lint web"), "chart-loaded pre-render post-render pre-lint");
    assert_eq!(at("package web"), "chart-loaded pre-package");
    assert_eq!(at("dependency build web"), "chart-loaded pre-dependency-build post-dependency-build");
    let here = env.path().display();
    assert_eq!(at(&format!("create new --starter {here}/web")), "pre-create post-create");
    let rendering = "chart-loaded pre-render post-render pre-validate post-validate";
    assert_eq!(at(&format!("install demo web --dry-run=server {flag}")), format!("{rendering} pre-install"));
    assert_eq!(at("install demo web --dry-run=client"), "chart-loaded pre-render post-render pre-install");
    assert_eq!(
        at(&format!("install demo web --wait {flag}")),
        format!("{rendering} pre-install post-install wait watch ready")
    );
    assert_eq!(at(&format!("upgrade demo web {flag}")), format!("{rendering} pre-upgrade post-upgrade"));
    assert_eq!(at(&format!("rollback demo 1 {flag}")), "pre-rollback post-rollback");
    assert_eq!(at(&format!("test demo {flag}")), "pre-test post-test");
    assert_eq!(at(&format!("uninstall demo {flag}")), "pre-delete post-delete");
    assert_eq!(at("template demo web --skip-scripts"), "");
}

#[test]
fn commands_without_events_call_no_handlers() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    chart(&env, "web", TELLS, "");
    has(&env.pintle("package web"), &["exit 0"]);
    let archive = std::fs::read(env.path().join("web-0.1.0.tgz")).expect("it was packed");
    let server = Server::plain(
        &[("web-0.1.0.tgz".to_owned(), archive)].into_iter().collect::<BTreeMap<_, _>>().into(),
    );
    has(&env.pintle(&format!("install demo web --skip-scripts {flag}")), &["exit 0"]);
    for line in [
        "dependency list web".to_owned(),
        "dependency update web".to_owned(),
        format!("pull http://{}/web-0.1.0.tgz", server.address),
        format!("get all demo {flag}"),
        format!("history demo {flag}"),
        format!("status demo {flag}"),
        "show all web".to_owned(),
        "plugin list".to_owned(),
        "repo list".to_owned(),
        "version".to_owned(),
    ] {
        let shown = env.pintle(&line);
        assert_eq!(printed(&shown), "", "{line}: {shown}");
        assert!(shown.starts_with("exit 0\n"), "{line}: {shown}");
    }
    // These find nothing, or no signature.
    for line in ["search repo web", "verify web-0.1.0.tgz"] {
        assert_eq!(printed(&env.pintle(line)), "", "{line}");
    }
}

/// A pod that fails as a test.
const FAILING_TEST: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: t\n  annotations:\n    helm.sh/hook: test\n    \
    pintle.dev/simulate-failures: always\nspec:\n  restartPolicy: Never\n  containers:\n  - {name: c, image: x}\n";

#[test]
fn failed_test_comes_after_post_test_even_if_that_fails() {
    let (env, flag) = (TestEnv::new(), "--cluster embedded:box.db");
    let handlers = "for _, name in {'pre-test', 'post-test', 'failed-test'} do \
                    events.on(name, function(ctx) log.info('at ' .. ctx.event) end) end";
    for script in
        [handlers.to_owned(), format!("{handlers}\nevents.on('post-test', 1, function() error('no') end)")]
    {
        chart(&env, "web", &script, "");
        env.write("web/templates/test.yaml", FAILING_TEST);
        has(&env.pintle(&format!("install demo web {flag}")), &["exit 0"]);
        let shown = env.pintle(&format!("test demo {flag}"));
        assert_eq!(printed(&shown), "pre-test post-test failed-test", "{shown}");
        has(&shown, &["exit 1"]);
        has(&env.pintle(&format!("uninstall demo {flag}")), &["exit 0"]);
    }
}

#[test]
fn every_event_has_capabilities_of_the_cluster_or_the_default_ones() {
    let (env, flag) = (TestEnv::new(), "--cluster embedded:box.db");
    let tells =
        TELLS.replace("'pre-create'", "'pre-list', 'post-list', 'failed-test', 'pre-create'").replace(
            "ctx.event)",
            "ctx.event .. '=' .. tostring(ctx.capabilities and #ctx.capabilities.apiVersions > 5))",
        );
    chart(&env, "web", &tells, "");
    env.write("web/templates/test.yaml", FAILING_TEST);
    let here = env.path().display();
    for (line, events) in [
        ("template demo web".to_owned(), 4),
        ("lint web".to_owned(), 4),
        ("package web".to_owned(), 2),
        ("dependency build web".to_owned(), 3),
        (format!("create new --starter {here}/web"), 2),
        (format!("install demo web --wait {flag}"), 10),
        (format!("upgrade demo web {flag}"), 7),
        (format!("rollback demo 1 {flag}"), 2),
        (format!("test demo {flag}"), 3),
        (format!("list {flag}"), 2),
        (format!("uninstall demo {flag}"), 2),
    ] {
        let shown = env.pintle(&line);
        let seen = printed(&shown);
        let seen: Vec<&str> = seen.split(' ').collect();
        assert_eq!(seen.len(), events, "{line}: {shown}");
        assert!(seen.iter().all(|event| event.ends_with("=true")), "{line}: {seen:?}");
    }
    // `lua run` shows handlers what the operation would.
    for entry in pintle::events::TABLE.iter().filter(|entry| !entry.core) {
        let shown = printed(&env.pintle(&format!("lua run web {}", entry.name)));
        assert_eq!(shown, format!("{}=true", entry.name));
    }
    // The capabilities are those of the cluster that is there.
    let script = "for _, name in {'chart-loaded', 'pre-rollback'} do events.on(name, function(ctx) log.info('at ' .. \
                  tostring(table.find(ctx.capabilities.apiVersions, 'example.com/v1') ~= nil)) end) end";
    chart(&env, "own", script, "");
    env.write(
        "own/crds/thing.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n\
         spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Thing, plural: things, singular: thing, \
         listKind: ThingList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    \
         schema: {openAPIV3Schema: {type: object}}\n",
    );
    assert_eq!(printed(&env.pintle(&format!("install own own {flag}"))), "false");
    assert_eq!(printed(&env.pintle(&format!("upgrade own own {flag}"))), "true");
    assert_eq!(printed(&env.pintle(&format!("rollback own 1 {flag}"))), "true");
}

#[test]
fn nothing_is_asked_for_where_no_handler_runs() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    chart(&env, "web", "events.on('pre-render', function() end)", "lua: [network]");
    for line in ["package web", "dependency build web", "lua run web pre-delete"] {
        has(&env.pintle(line), &["exit 0"]);
    }
    has(&env.pintle("template demo web"), &["exit 2", "not granted: network"]);
    has(&env.pintle(&format!("install demo web --accept-perms network {flag}")), &["exit 0"]);
    // Another user has granted nothing.
    let other = TestEnv::new();
    for line in ["list", "test demo", "uninstall demo"] {
        has(&other.pintle(&format!("{line} {flag}")), &["exit 0"]);
    }
    // Where handlers do run, they still need what they ask for.
    chart(&env, "web", "events.on('pre-package', function() end)", "lua: [network]");
    has(&env.pintle("package web"), &["exit 2", "not granted: network", "--accept-perms network"]);
    chart(&env, "web", "events.on('pre-delete', function() end)", "lua: [network]");
    has(&env.pintle(&format!("install demo web --accept-perms network {flag}")), &["exit 0"]);
    has(&other.pintle(&format!("uninstall demo {flag}")), &["exit 2", "not granted: network"]);
}

#[test]
fn no_script_goes_on_after_a_memory_limit_that_it_caught() {
    let env = TestEnv::new();
    let script = "events.on('pre-render', function(ctx)
        local ok = pcall(function() local t = {} for i = 1, 1e9 do t[i] = {i, i, i, i} end end)
        ctx.values.greeting = 'went on ' .. tostring(ok)
    end)";
    chart(&env, "web", script, "");
    let shown = env.pintle("template demo web");
    has(&shown, &["exit 1", "the script used more memory than it may (64 MiB)"]);
    assert!(!shown.contains("went on false"), "{shown}");
}

#[test]
fn strings_that_are_added_are_answered_with_the_operator_that_joins_them() {
    let env = TestEnv::new();
    chart(
        &env,
        "web",
        "events.on('pre-render', 0.5, function(_)\n  print(\"got chart \" + _.chart.name)\nend)",
        "",
    );
    let advice = "strings are joined with `..`, not with `+`";
    has(&env.pintle("template demo web"), &["exit 1", advice, "ext/lua/chart.lua:2"]);
    has(&env.pintle("lua check web"), &["exit 3", &format!("ext/lua/chart.lua:2: {advice}")]);
    let found = "events.on('chart-loaded', function(ctx) print(ctx.release.name) end)";
    chart(&env, "web", found, "");
    has(&env.pintle("lua check web"), &["exit 3", "`ctx.release` is nil in `chart-loaded`"]);
}

/// A script that changes an object at the events before objects are applied.
const LATE: &str = "for _, name in {'pre-install', 'pre-upgrade'} do events.on(name, function(ctx)
    for _, object in ctx.objects do
        object.metadata.labels = {late = name .. '-' .. tostring(object.metadata.labels ~= nil)}
    end
end) end";

#[test]
fn plans_dry_runs_and_diffs_have_what_late_handlers_change() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.pintle(&format!("{line} {flag}"));
    chart(&env, "web", LATE, "");
    let new = "late: pre-install-false";
    has(&run("plan install demo web --save new.plan"), &["exit 2", new]);
    has(&run("install demo web --dry-run=server"), &["exit 0", new]);
    has(&run("install demo web --dry-run=client"), &["exit 0", new]);
    has(&env.pintle("install demo web --dry-run=client"), &["exit 0", new]);
    has(&run("diff upgrade demo web --allow-unreleased"), &[new]);
    // helm-diff takes the release for one that exists.
    let next = "late: pre-upgrade-false";
    has(&env.pintle("diff upgrade demo web --allow-unreleased --dry-run=client"), &[next]);
    // The handler sees what was rendered, not what it made of it for the plan.
    has(&run("apply new.plan"), &["exit 0", "REVISION: 1"]);
    has(&run("get manifest demo"), &[new]);
    has(&run("plan upgrade demo web --save next.plan"), &["exit 2", next]);
    has(&run("upgrade demo web --dry-run=client"), &["exit 0", next]);
    has(&run("diff upgrade demo web"), &[next]);
    has(&run("apply next.plan"), &["exit 0", "REVISION: 2"]);
    has(&run("get manifest demo"), &[next]);
    has(&run("plan upgrade demo web"), &["exit 0", "unchanged"]);
    let shown = run("diff upgrade demo web");
    assert!(!shown.contains("late"), "{shown}");
    has(&run("upgrade demo web"), &["exit 0", "REVISION: 3"]);
}

#[test]
fn a_plan_is_applied_as_it_was_reviewed_whatever_a_handler_would_make_now() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.pintle(&format!("{line} {flag}"));
    let script = "events.on('pre-install', function(ctx)
        ctx.objects[1].data.greeting = template.render('{{ randAlphaNum 24 }}', {})
    end)";
    chart(&env, "web", script, "");
    has(&run("plan install demo web --save a.plan"), &["exit 2"]);
    let planned = |shown: &str| {
        let line = shown.lines().find(|line| line.contains("greeting:")).expect("it is shown");
        line.rsplit(' ').next().unwrap_or_default().trim_matches('"').to_owned()
    };
    let reviewed = planned(&run("plan show a.plan"));
    assert_eq!(reviewed.len(), 24, "{reviewed}");
    has(&run("apply a.plan"), &["exit 0", "would now make other objects than they did for the plan"]);
    assert_eq!(planned(&run("get manifest demo")), reviewed);
    // A handler can still refuse.
    chart(
        &env,
        "no",
        "events.on('pre-install', function(ctx) if ctx.release.name == 'b' and \
           kubernetes.get('v1', 'ConfigMap', 'demo') == nil then error('not without demo', 0) end end)",
        "",
    );
    has(&run("plan install b no --save b.plan"), &["exit 2"]);
    has(&run("uninstall demo"), &["exit 0"]);
    has(&run("apply b.plan"), &["exit 1", "not without demo"]);
}

#[test]
fn a_plan_says_which_handlers_may_still_change_objects_and_apply_lets_them() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.pintle(&format!("{line} --accept-perms network {flag}"));
    chart(&env, "web", LATE, "lua: [network]");
    let says = "handlers of `pre-install` are not called before the release is applied, because they may use network; \
                they may change objects then";
    let shown = run("plan install demo web --save a.plan");
    has(&shown, &["exit 2", says]);
    assert!(!shown.contains("late:"), "{shown}");
    has(
        &env.pintle(&format!("plan show a.plan -o json {flag}")),
        &["\"deferredHandlers\"", "\"pre-install\""],
    );
    has(&run("install demo web --dry-run=server"), &["exit 0", says]);
    has(&env.pintle("install demo web --dry-run=client --accept-perms network"), &["exit 0", says]);
    has(&run("diff upgrade demo web --allow-unreleased"), &[says]);
    has(&run("apply a.plan"), &["exit 0", "REVISION: 1"]);
    has(&env.pintle(&format!("get manifest demo {flag}")), &["late: pre-install-false"]);
}

#[test]
fn records_keep_the_scripts_of_subcharts_and_libraries() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    chart(&env, "web", "events.on('pre-delete', function() log.info('at ' .. require('common/x')) end)", "");
    env.write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 0.1.0\n")
        .write("web/charts/db/ext/lua/chart.lua", TELLS)
        .write(
            "web/library/common/Chart.yaml",
            "apiVersion: v2\nname: common\ntype: library\nversion: 1.0.0\n",
        )
        .write("web/library/common/ext/lua/x.lua", "return 'the library'")
        .write("web/requirements.yaml", "libraries:\n- {name: common, version: ^1.0.0}\n");
    for driver in ["secret", "native"] {
        let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        has(&run("install demo web"), &["exit 0"]);
        let shown = run("uninstall demo");
        assert_eq!(printed(&shown), "pre-delete the library post-delete", "{shown}");
    }
}

#[test]
fn every_line_that_a_script_prints_says_which_chart_it_is_from() {
    let env = TestEnv::new();
    let script = "events.on('pre-render', function() print('one\\nerror: the cluster is gone') end)";
    chart(&env, "web", script, "");
    let shown = env.pintle("template demo web");
    has(&shown, &["note: chart web: one\n", "note: chart web: error: the cluster is gone\n"]);
    assert!(!shown.lines().any(|line| line.starts_with("error:")), "{shown}");
}

#[test]
fn l_052_without_a_terminal_the_answer_is_no_and_the_flag_is_named() {
    let env = TestEnv::new();
    chart(&env, "web", "events.on('pre-render', function() end)", "lua: [network, os]");
    let shown = env.pintle("template demo web");
    has(&shown, &["exit 2", "chart web asks for permissions that were not granted: network, os"]);
    has(&shown, &["--accept-perms network,os", "--yes"]);
    let shown = env.helm("template demo web");
    has(&shown, &["exit 1", "--accept-perms network,os or --yes grants them"]);
    assert!(env.pintle("install demo web --dry-run=client").starts_with("exit 2\n"));
}

#[test]
fn l_053_flags_grant_all_permissions_or_a_set() {
    let env = TestEnv::new();
    chart(&env, "web", "events.on('pre-render', function() end)", "lua: [network, io]");
    for (flags, code) in [
        ("--yes", 0),
        ("-y", 0),
        ("--accept-perms network,filesystem", 0),
        ("--accept-perms io --accept-perms network,os", 0),
        ("--accept-perms network", 2),
        ("--accept-perms everything", 2),
    ] {
        let shown = env.pintle(&format!("template demo web {flags}"));
        assert!(shown.starts_with(&format!("exit {code}\n")), "{flags}: {shown}");
    }
    has(&env.pintle("template demo web --accept-perms all"), &["there is no permission `all`"]);
    // A chart that requests nothing needs no answer.
    chart(&env, "plain", "events.on('pre-render', function() end)", "");
    assert!(env.pintle("template demo plain --accept-perms os").starts_with("exit 0\n"));
}

#[test]
fn l_054_permissions_are_kept_shown_and_asked_for_again_when_there_are_more() {
    let flag = cluster::start();
    for driver in ["secret", "native"] {
        let env = TestEnv::new();
        let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        chart(&env, "web", TELLS, "");
        env.write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 0.1.0\n")
            .write("web/charts/db/ext/permissions.yaml", "lua: [network]");
        has(&run("install demo web"), &["exit 2", "not granted: network (chart web/db)"]);
        has(&run("list"), &["exit 0"]);
        assert!(!run("list").contains("demo"), "nothing was recorded");
        has(&run("install demo web --accept-perms network"), &["exit 0"]);
        has(&run("status demo"), &["PERMISSIONS: network\n"]);
        // A permission that was granted once is not asked for again, in any operation.
        has(&run("upgrade demo web"), &["exit 0"]);
        env.write("web/ext/permissions.yaml", "lua: [os]");
        has(&run("upgrade demo web"), &["exit 2", "not granted: network (chart web/db), os\n"]);
        has(&run("upgrade demo web --accept-perms os"), &["exit 2", "--accept-perms network,os"]);
        has(&run("upgrade demo web --accept-perms network,os"), &["exit 0"]);
        has(&run("status demo"), &["PERMISSIONS: network,os\n"]);
        has(&run("rollback demo 1"), &["exit 0"]);
        has(&run("status demo"), &["PERMISSIONS: network\n"]);
        has(&run("uninstall demo"), &["exit 0"]);
    }
    let asked = TestEnv::new().pintle(&format!("show permissions {}", example("permissions")));
    has(&asked, &["permissions\tnetwork", "Access the network", "Access the local filesystem"]);
}

#[test]
fn a_failing_handler_prevents_the_apply_or_is_recorded_after_it() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    chart(&env, "web", "events.on('pre-install', function() error('not today', 0) end)", "");
    let shown = env.pintle(&format!("install demo web {flag}"));
    has(&shown, &["exit 1", "the `pre-install` handler of chart web failed", "not today", ">    1 |"]);
    has(&env.pintle(&format!("status demo {flag}")), &["exit 1"]);
    chart(&env, "web", "events.on('post-install', function() error('too late', 0) end)", "");
    has(&env.pintle(&format!("install demo web {flag}")), &["exit 1", "too late"]);
    has(&env.pintle(&format!("status demo {flag}")), &["STATUS: failed", "too late"]);
}

#[test]
fn the_network_is_public_unless_the_user_says_otherwise() {
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nthere");
        }
    });
    let line = format!("template demo {} --yes --set from=http://{address}/", example("permissions"));
    has(&env.pintle(&line), &["exit 1", "127.0.0.1, which is not a public address"]);
    has(&env.pintle(&line), &["`--allow-private-network` lets scripts reach it"]);
    has(&env.pintle(&format!("{line} --allow-private-network")), &["greeting: \"there\""]);
}

#[test]
fn files_and_the_environment_are_reached_with_permission() {
    let env = TestEnv::new();
    env.write("files/hello.txt", "from a file").write("secret.txt", "not for scripts");
    let line = format!("template demo {} --yes --scripts-folder files", example("permissions"));
    has(&env.pintle(&format!("{line} --set file=hello.txt")), &["greeting: \"from a file\""]);
    has(&env.pintle(&format!("{line} --set file=../secret.txt")), &["exit 1", "leads out of the folder"]);
    has(&env.called("pintle", &line, &[("GREETING", "hi")]), &["greeting: \"hi\""]);
    chart(
        &env,
        "web",
        "events.on('pre-render', function(ctx) ctx.values.greeting = os.getenv('HELM_KUBETOKEN') end)",
        "lua: [os]",
    );
    let shown = env.called("pintle", "template demo web --yes", &[("HELM_KUBETOKEN", "ESCAPED")]);
    has(&shown, &["exit 1", "\"HELM_KUBETOKEN\" is not for scripts", "--set"]);
    assert!(!shown.contains("ESCAPED"));
}

#[test]
fn changes_of_scripts_are_explained_and_validated() {
    let env = TestEnv::new();
    let sized = example("sized");
    let shown = env.pintle(&format!("template demo {sized} --explain"));
    has(
        &shown,
        &["pre-render: chart sized: ext/lua/chart.lua:7 changed\n  values.memory\n  values.replicas\n"],
    );
    chart(&env, "web", "events.on('pre-render', function(ctx) ctx.values.greeting = 7 end)", "");
    env.write("web/values.schema.json", r#"{"properties": {"greeting": {"type": "string"}}}"#);
    has(&env.pintle("template demo web"), &["exit 2", "got number, want string"]);
}

#[test]
fn scripts_can_be_checked_run_and_created() {
    let env = TestEnv::new();
    has(&env.pintle("create new --lua"), &["exit 0"]);
    has(&env.pintle("lua check new"), &["No problems found."]);
    has(&env.pintle("template demo new"), &["example.com/chart: new"]);
    has(
        &env.pintle("lua run new post-render"),
        &["# before post-render", "# after post-render", "example.com/chart: new"],
    );
    has(&env.pintle("lua run new ready"), &["warning: the chart has no handler for `ready`"]);
    has(&env.pintle("lua run new instal"), &["exit 2", "there is no event `instal`"]);
    has(&env.pintle("lua types"), &["exit 0", "declare "]);
    env.write("new/ext/lua/chart.lua", "events.on('pre-instal', print)\nio.open('x')\n");
    let shown = env.pintle("lua check new");
    has(
        &shown,
        &["ext/lua/chart.lua:1: there is no event `pre-instal`", "ext/lua/chart.lua:2: there is no `io`"],
    );
    has(&shown, &["exit 3", "2 problems found"]);
    has(&env.pintle("lint new"), &["[ERROR] ext/lua/chart.lua: line 1: there is no event `pre-instal`"]);
    has(&env.pintle("template demo new"), &["exit 3", "there is no event `pre-instal`", ">    1 |"]);
}

#[test]
fn what_is_packed_can_be_changed_by_a_script() {
    let env = TestEnv::new();
    let script = "events.on('pre-package', function(ctx) table.insert(ctx.files, {name = 'built.txt', data = 'x'}) end)";
    chart(&env, "web", script, "");
    has(&env.pintle("package web"), &["exit 0"]);
    let listed = std::process::Command::new("tar")
        .args(["-tzf", "web-0.1.0.tgz"])
        .current_dir(env.path())
        .output()
        .expect("tar runs");
    has(&String::from_utf8_lossy(&listed.stdout), &["web/built.txt", "web/ext/lua/chart.lua"]);
    assert!(!env.path().join("web/built.txt").exists());
}

#[test]
fn changed_values_must_match_the_schemas_of_subcharts() {
    let env = TestEnv::new();
    chart(&env, "web", "events.on('pre-render', 1, function(ctx) ctx.values.db = {size = 'large'} end)", "");
    env.write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 0.1.0\n")
        .write("web/charts/db/values.yaml", "size: 1\n")
        .write("web/charts/db/values.schema.json", r#"{"properties": {"size": {"type": "number"}}}"#);
    has(
        &env.pintle("template demo web"),
        &["exit 2", "`db.size`: got string, want number", "set by a script"],
    );
    has(&env.pintle("lint web"), &["got string, want number", "1 chart(s) failed"]);
    has(&env.pintle("template demo web --skip-schema-validation"), &["exit 0"]);
    has(&env.pintle("template demo web --skip-scripts"), &["exit 0"]);
    // The script of a subchart is checked against its own schema.
    chart(&env, "web", "", "");
    env.write(
        "web/charts/db/ext/lua/chart.lua",
        "events.on('pre-render', function(ctx) ctx.values.size = {} end)",
    );
    has(
        &env.pintle("template demo web"),
        &["exit 2", "`db.size`: got object, want number", "set by a script"],
    );
}

#[test]
fn objects_returned_by_scripts_are_validated() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let object = |text: &str| {
        let script = format!("events.on('post-render', function(ctx) table.insert(ctx.objects, {text}) end)");
        chart(&env, "web", &script, "");
    };
    for (text, part) in [
        ("'text'", "objects[2]"),
        ("{1, 2}", "objects[2]"),
        ("{apiVersion = 'v1', metadata = {name = 'x'}}", "kind"),
        ("{kind = 'ConfigMap', metadata = {name = 'x'}}", "apiVersion"),
        ("{apiVersion = 'v1', kind = 'ConfigMap', metadata = {}}", "name"),
        ("{apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = 7}}", "name"),
        ("{apiVersion = 'v1', kind = 'Nonsense', metadata = {name = 'x'}}", "Nonsense"),
        (
            "{apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = 'demo'}}",
            "ConfigMap/demo more than once",
        ),
    ] {
        object(text);
        let shown = env.pintle(&format!("install demo web {flag}"));
        assert!(!shown.starts_with("exit 0"), "{text}: {shown}");
        has(&shown, &[part]);
        assert!(!env.pintle(&format!("list -a {flag}")).contains("demo"), "{text}: nothing is recorded");
    }
}

#[test]
fn what_is_explained_leaves_data_alone_and_names_wrappers_and_subcharts() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let parent = example("parent");
    for line in ["template demo", "install demo", "upgrade demo"] {
        let at = if line.starts_with("template") { String::new() } else { flag.clone() };
        let data = if line.starts_with("template") { "" } else { "-o json" };
        let shown = env.pintle(&format!("{line} {parent} --explain {data} {at}"));
        has(
            &shown,
            &["exit 0", "pre-render: chart parent/db: ext/lua/chart.lua:1 changed\n  values.greeting\n"],
        );
        has(&shown, &["pre-render: chart parent: ext/lua/chart.lua:7 changed\n  values.greeting\n"]);
        assert!(!shown.contains("post-render: chart parent/db"), "it is silenced: {shown}");
        let output = shown.split("--- stdout\n").nth(1).and_then(|text| text.split("--- stderr\n").next());
        let output = output.expect("there is output");
        assert!(!output.contains("changed\n"), "{output}");
        if !data.is_empty() {
            assert!(pintle_tree::json::read(output.trim().as_bytes()).is_ok(), "{output}");
        }
    }
}

#[test]
fn every_event_can_be_run() {
    let env = TestEnv::new();
    chart(
        &env,
        "web",
        &format!(
            "{TELLS}\nevents.on('failed-test', function(ctx) log.info('at ' .. ctx.event) end)\n\
        events.on('pre-list', function(ctx) log.info('at ' .. ctx.event) end)\n\
        events.on('post-list', function(ctx) log.info('at ' .. ctx.event) end)"
        ),
        "",
    );
    for entry in pintle::events::TABLE {
        let shown = env.pintle(&format!("lua run web {}", entry.name));
        match entry.core {
            true => has(&shown, &["exit 2", "is a core event"]),
            false => {
                assert_eq!(printed(&shown), entry.name, "{shown}");
                has(
                    &shown,
                    &["exit 0", &format!("# before {}\n", entry.name), &format!("# after {}\n", entry.name)],
                );
            }
        }
    }
    // `uninstall` has no chart, and `package` has no release.
    let told_of = "function(ctx) log.info('at ' .. tostring(ctx.chart ~= nil) .. ' ' .. tostring(ctx.release ~= nil)) end";
    chart(
        &env,
        "web",
        &format!(
            "for _, name in {{'pre-delete', 'pre-package', 'pre-test'}} do events.on(name, {told_of}) end"
        ),
        "",
    );
    for (event, expected) in
        [("pre-delete", "false true"), ("pre-package", "true false"), ("pre-test", "true true")]
    {
        assert_eq!(printed(&env.pintle(&format!("lua run web {event}"))), expected, "{event}");
    }
    // Changes of values and objects are shown.
    let script = "events.on('pre-render', function(ctx) ctx.values.greeting = 'changed' end)
        events.on('pre-install', function(ctx) ctx.objects[1].data.greeting = ctx.release.name end)";
    chart(&env, "web", script, "");
    let shown = env.pintle("lua run web pre-render --set greeting=given");
    has(&shown, &["  greeting: given\n", "  greeting: changed\n"]);
    has(&env.pintle("lua run web pre-install --release mine"), &["greeting: hello\n", "greeting: mine\n"]);
}

#[test]
fn a_new_chart_with_a_script_passes_everything() {
    let (env, flag) = (TestEnv::new(), "--cluster embedded:box");
    has(&env.pintle("create new --lua"), &["exit 0"]);
    has(&env.pintle("lua check new"), &["No problems found."]);
    has(&env.pintle("lint new --strict"), &["1 chart(s) linted, 0 chart(s) failed"]);
    for event in ["pre-render", "post-render"] {
        has(&env.pintle(&format!("lua run new {event} --is-upgrade")), &["exit 0"]);
    }
    has(&env.pintle(&format!("install demo new --wait {flag}")), &["exit 0"]);
    has(&env.pintle(&format!("upgrade demo new --wait {flag}")), &["exit 0"]);
    has(&env.pintle(&format!("get manifest demo {flag}")), &["example.com/chart: new"]);
    has(&env.pintle(&format!("test demo {flag}")), &["Phase:          Succeeded"]);
    has(&env.pintle("package new"), &["exit 0"]);
    has(&env.pintle("lua check new-0.1.0.tgz"), &["No problems found."]);
}

#[test]
fn wrong_types_are_found_without_running() {
    let env = TestEnv::new();
    let script = "events.on('pre-render', function(ctx)
        ctx.values.x = json.decode({})
        print(ctx.chart.nam, regex.find('a'))
    end)
    events.on('post-install', function(ctx) ctx.values.y = 1 end)
    evnets.on('ready', print)";
    chart(&env, "web", script, "");
    has(
        &env.pintle("lua check web"),
        &[
            "exit 3",
            "chart.lua:2: argument 1 of `json.decode` must be a string, not a table\n",
            "chart.lua:3: `ctx.chart` has no field `nam`; it has apiVersion, name,",
            "chart.lua:3: `regex.find` takes 2 arguments, not 1\n",
            "chart.lua:5: `ctx.values` is read-only in `post-install`\n",
            "chart.lua:6: there is no `evnets`\n",
        ],
    );
}

#[test]
fn l_010_a_script_decides_which_charts_are_fetched() {
    let env = TestEnv::new();
    let script = "events.on('pre-dependency-build', function(ctx)
        ctx.dependencies[1].repository = 'file://../two'
        ctx.dependencies[1].version = '2.0.0'
        table.insert(ctx.dependencies, {name = 'extra', version = '*', repository = 'file://../extra'})
    end)
    events.on('post-dependency-build', function(ctx)
        for _, one in ctx.dependencies do log.info('at ' .. one.name .. ' ' .. one.version) end
    end)";
    chart(&env, "web", script, "");
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: db, version: 1.0.0, repository: 'file://../one'}\n",
    );
    for (folder, name, version) in
        [("one", "db", "1.0.0"), ("two", "db", "2.0.0"), ("extra", "extra", "0.3.0")]
    {
        let text = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
        env.write(&format!("{folder}/Chart.yaml"), &text);
    }
    let names = || {
        let entries = std::fs::read_dir(env.path().join("web/charts")).expect("it is there").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let shown = env.pintle("dependency build web");
    has(&shown, &["exit 0"]);
    assert_eq!(printed(&shown), "db 2.0.0 extra 0.3.0", "what was resolved, and not Chart.yaml");
    assert_eq!(names(), ["db-2.0.0.tgz", "extra-0.3.0.tgz"]);
    assert!(!env.path().join("web/Chart.lock").exists(), "the lock is about Chart.yaml");
    has(&env.pintle("dependency build web --skip-scripts"), &["exit 0"]);
    assert!(names().contains(&"db-1.0.0.tgz".to_owned()) && env.path().join("web/Chart.lock").exists());
    // A failing handler changes nothing.
    chart(&env, "web2", "events.on('pre-dependency-build', function() error('no', 0) end)", "");
    has(&env.pintle("dependency build web2"), &["exit 1", "no"]);
    assert!(!env.path().join("web2/charts").exists());
}

#[test]
fn secrets_that_are_not_the_chart_s_own_stay_where_they_are() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    env.write("other/Chart.yaml", "apiVersion: v2\nname: other\nversion: 0.1.0\n").write(
        "other/templates/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs}\nstringData: {password: ESCAPED}\n",
    );
    let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", "secret")]);
    has(&run("install far other --namespace far --create-namespace"), &["exit 0"]);
    has(&run("install near other"), &["exit 0"]);
    let reads = |name: &str, namespace: &str| {
        format!(
            "events.on('pre-render', function(ctx)
                local found = kubernetes.get('v1', 'Secret', '{name}', '{namespace}')
                ctx.values.greeting = base64.decode(found.data.password or '')
            end)"
        )
    };
    // Objects of the release's namespace are visible, as in templates; those of others and release records are not.
    chart(&env, "web", &reads("theirs", "default"), "");
    has(&run("template web web --dry-run=server"), &["greeting: \"ESCAPED\""]);
    chart(&env, "web", &reads("theirs", "far"), "");
    has(
        &run("template web web --dry-run=server"),
        &["exit 1", "scripts may not read Secrets of other namespaces"],
    );
    chart(&env, "web", &reads("sh.helm.release.v1.near.v1", "default"), "");
    has(&run("template web web --dry-run=server"), &["exit 1", "scripts may not read release records"]);
    // With the network permission, neither scripts nor templates see objects of others.
    chart(&env, "web", &reads("theirs", "default"), "lua: [network]");
    let shown = run("template web web --dry-run=server --yes");
    has(&shown, &["exit 1", "theirs does not belong to the release web"]);
    assert!(!shown.contains("ESCAPED"));
    has(&run("template near web --dry-run=server --yes --is-upgrade"), &["greeting: \"ESCAPED\""]);
    chart(&env, "web", "events.on('post-render', function() end)", "lua: [network]");
    for arguments in [r#""far" "theirs""#, r#""default" "theirs""#, r#""default" """#, r#""" """#] {
        let template = format!("x: {{{{ lookup \"v1\" \"Secret\" {arguments} | toJson }}}}\n");
        env.write(
            "web/templates/secret.yaml",
            &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: found}}\n{template}"),
        );
        let shown = run("template web web --dry-run=server --yes");
        has(&shown, &["exit 1", "does not belong to the release web"]);
        assert!(!shown.contains("ESCAPED"), "{arguments}: {shown}");
        // Without scripts it is an ordinary chart.
        has(&run("template web web --dry-run=server --skip-scripts"), &["exit 0", "theirs"]);
    }
}

#[test]
fn records_and_requests_of_others_are_hidden_from_scripts() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", "native")]);
    env.write("bank/Chart.yaml", "apiVersion: v2\nname: bank\nversion: 0.1.0\n")
        .write("bank/values.yaml", "password: ESCAPED\n")
        .write("bank/crds/request.yaml", include_str!("../../../deploy/crds/helm-request.yaml"))
        .write(
            "bank/templates/request.yaml",
            "apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {name: theirs}\n\
             spec: {chart: {url: 'oci://registry.example.com/web'}, values: {password: ESCAPED}}\n",
        );
    has(&run("init"), &["exit 0"]);
    has(&run("install bank bank"), &["exit 0"]);
    for (kind, name) in [("HelmRequest", "theirs"), ("Release", "bank")] {
        let script = format!(
            "events.on('pre-render', function(ctx)
                local ok, found = pcall(kubernetes.get, 'helm.sh/v3', '{kind}', '{name}')
                ctx.values.greeting = ok and yaml.encode(found) or found
            end)"
        );
        for permissions in ["", "lua: [network]"] {
            chart(&env, "web", &script, permissions);
            let shown = run("template web web --dry-run=server --yes");
            has(&shown, &["exit 0", "scripts may not read release records and requests of others"]);
            assert!(!shown.contains("ESCAPED"), "{kind}: {shown}");
        }
    }
    // Templates of charts with network access see none either.
    chart(&env, "web", "events.on('pre-render', function() end)", "lua: [network]");
    for arguments in
        [r#""HelmRequest" "default" "theirs""#, r#""HelmRequest" "" """#, r#""Release" "default" """#]
    {
        let template = format!("x: {{{{ lookup \"helm.sh/v3\" {arguments} | toJson | quote }}}}\n");
        env.write(
            "web/templates/found.yaml",
            &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: found}}\ndata:\n  {template}"),
        );
        let shown = run("template web web --dry-run=server --yes");
        has(&shown, &["exit 1", "does not belong to the release web"]);
        assert!(!shown.contains("ESCAPED"), "{arguments}: {shown}");
    }
}

#[test]
fn charts_of_other_engines_are_packed_and_linted_like_any_other() {
    let env = TestEnv::new();
    for (name, objects) in
        [("no-templates", ["demo-north", "demo-south"]), ("with-library", ["demo-one", "demo-two"])]
    {
        let (chart, packed) = (example(name), format!("{name}-0.1.0.tgz"));
        has(&env.helm(&format!("package {chart}")), &["exit 0", &packed]);
        for called in ["pintle", "helm"] {
            let run = |line: &str| env.called(called, line, &[]);
            let shown = run(&format!("template demo {packed}"));
            assert_eq!(shown, run(&format!("template demo {chart}")), "{name} is rendered as it was packed");
            let sources = format!("# Source: {name}/post-render.yaml");
            has(
                &shown,
                &["exit 0", &sources, &format!("name: {}\n", objects[0]), &format!("name: {}\n", objects[1])],
            );
            has(
                &run(&format!("lint {packed} --strict")),
                &["exit 0", "1 chart(s) linted, 0 chart(s) failed"],
            );
        }
    }
}

#[test]
fn get_values_shows_what_was_rendered() {
    let flag = cluster::start();
    for driver in ["secret", "native"] {
        let env = TestEnv::new();
        let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        let script = "events.on('pre-render', function(ctx) ctx.values.greeting = ctx.values.greeting .. ' there' end)";
        chart(&env, "web", script, "");
        has(&run("install demo web --set greeting=hi"), &["exit 0"]);
        has(&run("get manifest demo"), &["greeting: \"hi there\""]);
        has(&run("get values demo --all"), &["greeting: hi there\n"]);
        assert_eq!(run("get values demo"), "exit 0\n--- stdout\nUSER-SUPPLIED VALUES:\ngreeting: hi\n");
        // The next version does not start from the rendered values.
        has(&run("upgrade demo web --reuse-values"), &["exit 0"]);
        has(&run("get values demo --all"), &["greeting: hi there\n"]);
        has(&run("rollback demo 1"), &["exit 0"]);
        has(&run("get values demo --all"), &["greeting: hi there\n"]);
        has(&run("uninstall demo"), &["exit 0"]);
    }
}

#[test]
fn ineffective_changes_are_warned_about() {
    let env = TestEnv::new();
    chart(&env, "web", "events.on('pre-render', function(ctx) ctx.values.db.enabled = false end)", "");
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n\
             - {name: db, version: 0.1.0, condition: db.enabled}\n",
    )
    .write("web/values.yaml", "greeting: a\nglobal: {x: 1}\ndb: {enabled: true}\n");
    chart(&env, "web/charts/db", "events.on('pre-render', function(ctx) ctx.values.global.x = 2 end)", "");
    env.write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 0.1.0\n");
    let shown = env.pintle("template demo web");
    has(&shown, &["exit 0", "changed `db.enabled`, which decides whether the dependency db takes part"]);
    has(&shown, &["changed `global` values of the subchart db, and the change does not count"]);
    // A disabled subchart cannot be enabled any more either, in any event.
    chart(&env, "web", "events.on('chart-loaded', function(ctx) ctx.values.db = {enabled = true} end)", "");
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n\
             - {name: db, version: 0.1.0, condition: db.enabled}\n",
    )
    .write("web/values.yaml", "greeting: a\ndb: {enabled: false}\n");
    has(&env.pintle("template demo web"), &["a handler of `chart-loaded` changed `db.enabled`"]);
    // Effective changes get no warning.
    env.write("web/charts/db/ext/lua/chart.lua", "");
    chart(&env, "web", "events.on('pre-render', function(ctx) ctx.values.global = {x = 3} end)", "");
    let shown = env.pintle("template demo web");
    assert!(!shown.contains("changed"), "{shown}");
}

#[test]
fn list_events_reach_the_scripts_of_releases() {
    let flag = cluster::start();
    for driver in ["secret", "native"] {
        let env = TestEnv::new();
        let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        let script = "for _, name in {'pre-list', 'post-list'} do events.on(name, function(ctx) \
                      log.info('at ' .. ctx.event .. ' of ' .. ctx.release.name) end) end";
        chart(&env, "web", script, "");
        chart(&env, "plain", TELLS, "");
        has(&run("install demo web"), &["exit 0"]);
        has(&run("install plain plain"), &["exit 0"]);
        assert_eq!(printed(&run("list")), "pre-list of demo post-list of demo");
        assert_eq!(printed(&run("list --skip-scripts")), "");
        assert_eq!(printed(&run("list --filter plain")), "");
        has(&run("upgrade demo web"), &["exit 0"]);
        has(&run("rollback demo 1"), &["exit 0"]);
        assert_eq!(printed(&run("list -o json")), "pre-list of demo post-list of demo");
        // An error of one release does not keep others from being listed.
        chart(&env, "web", "events.on('pre-list', function() error('no', 0) end)", "");
        has(&run("upgrade demo web"), &["exit 0"]);
        has(&run("list"), &["exit 0", "demo", "plain", "skipped the scripts", "no"]);
        has(&run("uninstall demo"), &["exit 0"]);
        has(&run("uninstall plain"), &["exit 0"]);
    }
}

#[test]
fn handlers_of_libraries_and_subcharts_see_their_chart_and_still_do_after_a_rollback() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let script = "for _, name in {'post-render', 'pre-rollback', 'pre-test'} do events.on(name, function(ctx) \
                  log.info('at ' .. ctx.event .. ' ' .. ctx.chart.name .. ' ' .. ctx.chart.version .. ' ' .. \
                  ctx.templates[1].name .. ' ' .. #ctx.files) end) end";
    chart(&env, "web", "", "");
    chart(&env, "web/charts/db", script, "");
    chart(&env, "web/library/common", script, "");
    env.write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 3.1.4\n")
        .write("web/charts/db/README.md", "read me")
        .write(
            "web/library/common/Chart.yaml",
            "apiVersion: v2\nname: common\ntype: library\nversion: 1.2.3\n",
        )
        .write("web/library/common/templates/config.yaml", "{{ define \"common.x\" }}{{ end }}")
        .write("web/requirements.yaml", "libraries:\n- {name: common, version: ^1.0.0}\n");
    let seen = |event: &str| {
        format!("{event} common 1.2.3 templates/config.yaml 0 {event} db 3.1.4 templates/config.yaml 1")
    };
    for driver in ["secret", "native"] {
        let run = |line: &str| env.called("pintle", &format!("{line} {flag}"), &[("HELM_DRIVER", driver)]);
        let shown = run("install demo web");
        assert_eq!(printed(&shown), seen("post-render"), "{shown}");
        has(&run("upgrade demo web"), &["exit 0"]);
        let shown = run("rollback demo 1");
        assert_eq!(printed(&shown), seen("pre-rollback"), "{shown}");
        let shown = run("test demo");
        assert_eq!(printed(&shown), seen("pre-test"), "{shown}");
        has(&run("uninstall demo"), &["exit 0"]);
    }
}

#[test]
fn after_dependencies_are_built_handlers_see_what_was_resolved() {
    let env = TestEnv::new();
    let script = "events.on('post-dependency-build', function(ctx) for _, one in ctx.dependencies do \
                  log.info('at ' .. one.name .. ' ' .. one.version) end end)";
    chart(&env, "web", script, "");
    chart(&env, "db", "", "");
    env.write("db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.4.2\n").write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: db, version: ^1.0.0, repository: 'file://../db'}\n",
    );
    let shown = env.pintle("dependency build web");
    assert_eq!(printed(&shown), "db 1.4.2", "{shown}");
}

#[test]
fn readiness_changes_reach_watch_handlers_and_the_reason_is_shown() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let script = "local turns = 0
        events.on('watch', function(ctx) local r = ctx.readiness
            log.info('at ' .. r.kind .. ' ' .. r.name .. ' ' .. tostring(r.ready) .. ' ' .. #ctx.objects)
            if pcall(function() ctx.values.a = 1 end) then error('it can be changed') end
        end)
        events.on('ready', function() turns += 1 return turns > 1, 'the cache warms up' end)";
    chart(&env, "web", script, "");
    let shown = env.pintle(&format!("install demo web --wait {flag}"));
    has(&shown, &["exit 0", "`ready` waits: the cache warms up"]);
    assert_eq!(printed(&shown), "ConfigMap demo true 1", "{shown}");
    chart(&env, "bad", "events.on('watch', function() error('enough', 0) end)", "");
    has(&env.pintle(&format!("install bad bad --wait {flag}")), &["exit 1", "enough", "`watch` handler"]);
    has(&env.pintle(&format!("status bad {flag}")), &["STATUS: failed"]);
}

#[test]
fn errors_have_hints() {
    let (env, flag) = (TestEnv::new(), cluster::start());
    let run = |line: &str| env.pintle(&format!("{line} {flag}"));
    chart(&env, "web", "events.on('pre-delete', function() error({code = 1}) end)", "");
    has(&run("install demo web"), &["exit 0", "VERSION ID: 0"]);
    has(&run("uninstall demo"), &["exit 1", "{code = 1}", "--skip-scripts"]);
    has(&run("status demo"), &["VERSION ID: 0"]);
    has(&run("status demo -o json"), &[r#""id":"0"#]);
    has(&run("list -o json"), &[r#""id":"0"#]);
    let shown = run("get values demo --revision 99");
    has(&shown, &["exit 2", "has no version 99", "existing versions: 1"]);
    has(&run("rollback demo 99"), &["exit 1", "release `demo` has no version 99", "existing versions: 1"]);
    assert!(run("status nobody --revision 2").contains("there is no release `nobody`"));
    // Under the name `helm` errors keep Helm's texts, and records in Helm's format have no ids.
    let helm = env.helm_with(&format!("get values demo --revision 99 {flag}"), &[("HELM_DRIVER", "native")]);
    has(&helm, &["exit 1", "Error: release: not found"]);
    let secret = env.called("pintle", &format!("install other web {flag}"), &[("HELM_DRIVER", "secret")]);
    assert!(!secret.contains("VERSION ID"), "{secret}");
    has(&run("uninstall demo --skip-scripts"), &["exit 0"]);
}

#[test]
fn lint_holds_a_chart_of_the_kind_chart_to_its_definition() {
    let env = TestEnv::new();
    let head = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: web-0.1.0\n  labels: {chart: web, version: 0.1.0}\n";
    env.write(
        "web/Chart.yaml",
        &format!("{head}data:\n  description: x\n  icon: https://example.com/a.svg\n"),
    )
    .write("web/values.yaml", "")
    .write("web/templates/a.yaml", "");
    has(&env.pintle("lint web"), &["exit 0", "0 chart(s) failed"]);
    env.write("web/Chart.yaml", &format!("{head}data:\n  keywords: one\n  type: other\n"));
    let shown = env.pintle("lint web");
    has(&shown, &["does not fit the kind Chart of helm.sh/v3", "/data/keywords", "/data/type"]);
    // A server would drop unknown fields silently.
    let head = head.replace("name: web-0.1.0", "name: web").replace("labels:", "lables: {}\n  labels:");
    let data = "data:\n  engine: gotpl\n  tillerVersion: '>2'\n  descripton: x\n  maintainers: [{name: a, mail: b}]\n  version: 1\n";
    env.write("web/Chart.yaml", &format!("{head}{data}appVersion: '1'\n"));
    let shown = env.pintle("lint web");
    has(
        &shown,
        &[
            "exit 1",
            "[ERROR] Chart.yaml: data.engine was removed: lifecycle events replace it",
            "[ERROR] Chart.yaml: data.tillerVersion was removed: there is no Tiller",
            "[ERROR] Chart.yaml: data.descripton is not a field of the kind Chart; did you mean description?",
            "[ERROR] Chart.yaml: data.maintainers[0].mail is not a field of the kind Chart; did you mean email?",
            "[ERROR] Chart.yaml: data.version is not a field of the kind Chart; its place is metadata.labels.version",
            "[ERROR] Chart.yaml: appVersion is not a field of the kind Chart; its place is metadata.labels.appVersion",
            "[ERROR] Chart.yaml: metadata.lables is not a field of the kind Chart; did you mean labels?",
            "[ERROR] Chart.yaml: metadata.name is `web`; it is the name of the chart and its version, `web-0.1.0`",
        ],
    );
}

#[test]
fn charts_are_created_in_the_form_of_a_kubernetes_object() {
    let env = TestEnv::new();
    has(&env.pintle("create web --chart-api-version helm.sh/v3"), &["exit 0"]);
    let chart = std::fs::read_to_string(env.path().join("web/Chart.yaml")).expect("it was written");
    has(
        &chart,
        &["apiVersion: helm.sh/v3\nkind: Chart\n", "name: web-0.1.0", "heritage: helm", "chart: web"],
    );
    let shown = env.pintle("lint web");
    has(&shown, &["exit 0", "0 chart(s) failed"]);
    assert!(!shown.contains("[ERROR]") && !shown.contains("[WARNING]"), "{shown}");
    has(&env.pintle("template demo web"), &["exit 0", "helm.sh/chart: web-0.1.0"]);
    has(&env.pintle("package web"), &["exit 0", "web-0.1.0.tgz"]);
    let here = env.path().display();
    has(
        &env.pintle(&format!("create again --starter {here}/web --chart-api-version helm.sh/v3")),
        &["exit 0"],
    );
    let chart = std::fs::read_to_string(env.path().join("again/Chart.yaml")).expect("it was written");
    has(&chart, &["apiVersion: helm.sh/v3", "name: again-0.1.0"]);
    has(&env.pintle("create other --chart-api-version v9"), &["exit 2", "supported: v2, v3, helm.sh/v3"]);
    has(&env.helm("create web --chart-api-version helm.sh/v3"), &["exit 1", "(supported: v2, v3)"]);
}
