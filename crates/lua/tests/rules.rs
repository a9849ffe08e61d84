//! The rules of the Helm 3 proposal that scripts show by themselves; `docs/contributing/lua-rules.md` maps each to its tests.

use crate::common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{
    TestEnv, chart, context, error_chain, give_library, library, refusal, said, scripted, test_env,
    try_test_env, yaml,
};
use pintle_chart::Chart;
use pintle_events::{ChartPath, Context, Emitter, Event, Registration};
use pintle_lua::{
    Cancelled, ClusterReader, Fetch, FetchRequest, FetchResponse, Limits, Permissions, Scripts, Services,
    System, requested_permissions,
};
use pintle_tree::Node;

fn refused_to_load(chart: &Chart) -> String {
    match try_test_env(chart, &Permissions::none(), |_| ()) {
        Ok(_) => panic!("it must not load"),
        Err(error) => error_chain(&error),
    }
}

fn order(test_env: &mut TestEnv, event: Event) -> String {
    test_env.emit(event, &mut context("a: 1", &[]));
    let text = test_env.listener.text();
    text.lines().map(|line| line.split(": ").last().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

#[test]
fn l_003_core_events_refuse_handlers() {
    for event in ["render", "install", "upgrade", "delete", "list", "read-chart", "write-chart", "validate"] {
        let error_chain = refused_to_load(&scripted("web", &format!("events.on('{event}', print)")));
        let expected =
            format!("ext/lua/chart.lua:1: events.on: `{event}` is a core event and takes no handlers");
        assert!(error_chain.contains(&expected), "{error_chain}");
    }
}

#[test]
fn l_004_every_optional_event_is_scriptable() {
    for entry in pintle_events::TABLE.iter().filter(|entry| !entry.core) {
        let script = format!("events.on('{}', function(ctx) print(ctx.event) end)", entry.name);
        let mut test_env = test_env(&scripted("web", &script));
        test_env.emit(entry.event, &mut context("a: 1", &[]));
        assert_eq!(test_env.listener.text(), format!("web: Info: {}", entry.name));
    }
}

#[test]
fn unknown_events_are_answered_with_the_known_ones() {
    let error_chain = refused_to_load(&scripted("web", "local x\nevents.on('boom', print)"));
    assert!(
        error_chain.contains(
            "ext/lua/chart.lua:2: events.on: there is no event `boom`; the events are chart-loaded, "
        )
    );
}

#[test]
fn l_007_another_template_engine_is_possible() {
    let script = "events.on('pre-render', function(ctx) ctx.templates = {} end)
        events.on('post-render', function(ctx)
            table.insert(ctx.objects, {apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = ctx.release.name},
                data = {a = tostring(ctx.values.a)}})
        end)";
    let mut test_env = test_env(&scripted("web", script));
    let mut context = context("a: 1", &[]);
    test_env.emit(Event::PreRender, &mut context);
    assert!(
        context
            .all_charts()
            .iter()
            .find(|part| part.facts.name == "web")
            .expect("it is there")
            .templates
            .is_empty()
    );
    test_env.emit(Event::PostRender, &mut context);
    let objects = context.take_objects();
    assert_eq!(
        yaml(objects[0].object.body()),
        "apiVersion: v1\ndata:\n  a: \"1\"\nkind: ConfigMap\nmetadata:\n  name: prod\n"
    );
}

#[test]
fn l_012_a_parent_silences_a_subchart_s_handlers_of_one_event_or_all() {
    let child = "events.on('pre-render', function() print('child') end)
        events.on('post-render', function() print('child') end)";
    for (parent, expected) in [
        ("events.subchart('db'):off('pre-render')", ("", "child")),
        ("events.subchart('db'):off()", ("", "")),
        ("", ("child", "child")),
    ] {
        let mut chart = scripted("web", parent);
        chart.subcharts.push(scripted("db", child));
        for (event, expected) in [(Event::PreRender, expected.0), (Event::PostRender, expected.1)] {
            assert_eq!(order(&mut test_env(&chart), event), expected, "{parent}");
        }
    }
}

#[test]
fn l_012_a_parent_acts_before_and_after_a_subchart_s_handler() {
    let parent = "events.subchart('db'):wrap('pre-render', function(ctx, next)
            ctx.values.size = 5
            print('before ' .. ctx.chart.name)
            next()
            print('after ' .. ctx.values.size)
            ctx.values.size = ctx.values.size + 1
        end)";
    let child =
        "events.on('pre-render', function(ctx) print('child ' .. ctx.values.size) ctx.values.size = 10 end)";
    let mut chart = scripted("web", parent);
    chart.subcharts.push(scripted("db", child));
    let mut test_env = test_env(&chart);
    let mut context = context("db: {size: 1}", &[]);
    test_env.emit(Event::PreRender, &mut context);
    assert_eq!(test_env.listener.text(), "web: Info: before db\nweb/db: Info: child 5\nweb: Info: after 10");
    assert_eq!(yaml(context.all_values()), "db:\n  size: 11\n");
}

#[test]
fn l_012_wrappers_nest_answer_for_errors_and_reach_charts_below_charts() {
    let parent = "local db = events.subchart('db')
        db:wrap('pre-render', function(ctx, next) print('inner') next() end)
        db:wrap('pre-render', function(ctx, next) print('outer') local ok, why = pcall(next) print(why) end)
        db:subchart('log'):wrap('pre-render', function(ctx, next) print('log') next() end)";
    let mut chart = scripted("web", parent);
    let mut db = scripted("db", "events.on('pre-render', function() error('broken') end)");
    db.subcharts.push(scripted("log", "events.on('pre-render', function() error('from log') end)"));
    chart.subcharts.push(db);
    let mut test_env = test_env(&chart);
    let error_chain = test_env.refused(Event::PreRender, &mut context("db: {}", &[]));
    assert!(
        error_chain.contains(
            "handler of chart web/db/log at ext/lua/chart.lua:1 failed\next/lua/chart.lua:1: from log"
        ),
        "{error_chain}"
    );
    let mut chart = scripted("web", parent);
    let mut db = scripted("db", "events.on('pre-render', function() error('broken') end)");
    db.subcharts.push(scripted("log", ""));
    chart.subcharts.push(db);
    let mut test_env = self::test_env(&chart);
    test_env.emit(Event::PreRender, &mut context("db: {}", &[]));
    let text = test_env.listener.text();
    assert!(text.starts_with("web: Info: outer\nweb: Info: inner\n") && text.contains("broken"), "{text}");
}

#[test]
fn l_020_weights_are_between_0_and_1_and_0_goes_first() {
    let script = "events.on('ready', 1, function() print('last') end)
        events.on('ready', function() print('middle') end)
        events.on('ready', 0, function() print('first') end)";
    assert_eq!(order(&mut test_env(&scripted("web", script)), Event::Ready), "first middle last");
    for weight in ["-0.1", "1.1", "0/0", "math.huge"] {
        let error_chain = refused_to_load(&scripted("web", &format!("events.on('ready', {weight}, print)")));
        assert!(error_chain.contains("of a handler for `ready` is not between 0 and 1"), "{error_chain}");
    }
}

#[test]
fn l_021_equal_weights_run_in_the_order_of_registration() {
    let script = "for i = 1, 5 do events.on('ready', 0.3, function() print(i) end) end";
    assert_eq!(order(&mut test_env(&scripted("web", script)), Event::Ready), "1 2 3 4 5");
}

#[test]
fn l_022_handlers_take_the_context_alone() {
    let said = said("print(select('#', ctx), type(ctx))");
    assert_eq!(said, "1\ttable");
}

#[test]
fn l_023_handlers_run_children_first_and_the_topmost_last() {
    let say = |name: &str| format!("events.on('pre-install', function() print('{name}') end)");
    let mut web = scripted("web", &say("web"));
    let mut db = scripted("db", &say("db"));
    db.subcharts.push(scripted("log", &say("log")));
    web.subcharts.push(db);
    web.subcharts.push(scripted("cache", &say("cache")));
    assert_eq!(order(&mut test_env(&web), Event::PreInstall), "cache log db web");
}

#[test]
fn l_024_the_first_error_stops_the_event() {
    let script = "events.on('pre-install', 0.1, function() print('one') end)
        events.on('pre-install', 0.2, function(ctx)
            local function deeper() error('no more') end
            deeper()
        end)
        events.on('pre-install', 0.3, function() print('three') end)";
    let mut test_env = test_env(&scripted("web", script));
    let error =
        test_env.emitter.emit(Event::PreInstall, &mut context("a: 1", &[])).expect_err("it must fail");
    assert_eq!(
        error_chain(&error),
        "the `pre-install` handler of chart web at ext/lua/chart.lua:2 failed\n\
         ext/lua/chart.lua:3: no more\n\
         \x20    2 |         events.on('pre-install', 0.2, function(ctx)\n\
         >    3 |             local function deeper() error('no more') end\n\
         \x20    4 |             deeper()"
    );
    let pintle_events::Error::Handler { source, .. } = &error else { panic!("it is a handler's error") };
    let trace = source.trace().expect("there is a trace");
    assert_eq!(
        trace,
        "ext/lua/chart.lua:3: in function 'deeper'\next/lua/chart.lua:4: in function <ext/lua/chart.lua:2>"
    );
    assert_eq!(test_env.listener.text(), "web: Info: one");
}

#[test]
fn rust_handlers_and_scripts_share_one_emitter() {
    let mut test_env = test_env(&scripted(
        "web",
        "events.on('pre-render', function(ctx) ctx.values.a = ctx.values.a * 2 end)",
    ));
    let registration = Registration {
        event: "pre-render",
        weight: 0.1,
        chart: ChartPath::program(),
        location: "here".into(),
    };
    let handler = |context: &mut Context| {
        context.values_mut()?.insert("a".into(), 21.into());
        Ok(())
    };
    test_env.emitter.on(registration, Box::new(handler)).expect("a good registration");
    let mut context = context("a: 1", &[]);
    test_env.emit(Event::PreRender, &mut context);
    assert_eq!(yaml(context.all_values()), "a: 42\n");
}

#[test]
fn l_030_and_l_031_only_chart_lua_is_loaded_by_itself() {
    let files = [
        (
            "ext/lua/chart.lua",
            "local a = require('a')\nlocal b = require('deep.b')\nprint(a, b.name, require('a') == a)",
        ),
        ("ext/lua/a.lua", "print('a is loaded') return 'a'"),
        ("ext/lua/deep/b.lua", "return {name = require('a') .. 'b'}"),
        ("ext/lua/decoy.lua", "error('a decoy is loaded')"),
        ("ext/chart.lua", "error('a decoy is loaded')"),
        ("chart.lua", "error('a decoy is loaded')"),
    ];
    let test_env = test_env(&chart("web", &files));
    assert_eq!(test_env.listener.text(), "web: Info: a is loaded\nweb: Info: a\tab\ttrue");
}

#[test]
fn modules_are_globals_and_can_be_required() {
    let said = said(
        "print(require('events') == events, require('yaml') == yaml, require('json') == json, require('toml') == toml,
            require('semver') == semver, require('base64') == base64, require('hash') == hash, require('regex') == regex,
            require('log') == log, require('template') == template, require('kubernetes') == kubernetes)",
    );
    assert!(!said.contains("false"), "{said}");
}

#[test]
fn l_034_each_chart_has_an_environment_of_its_own() {
    let mut web = scripted("web", "print(shared, type(string.rep))");
    web.subcharts.push(scripted("db", "shared = 1 print(shared)"));
    assert_eq!(test_env(&web).listener.text(), "web/db: Info: 1\nweb: Info: nil\tfunction");
}

#[test]
fn l_035_library_charts_are_loaded_as_others_and_their_modules_can_be_required() {
    let mut web =
        scripted("web", "local l = require('common/labels')\nprint(l.of('x'))\nrequire('common/names')");
    let files = [
        ("ext/lua/chart.lua", "events.on('ready', function() print('library') end)"),
        (
            "ext/lua/labels.lua",
            "local n = require('names')\nreturn {of = function(x) return n.prefix .. x end}",
        ),
        ("ext/lua/names.lua", "return {prefix = 'app-'}"),
    ];
    let mut db = scripted("db", "print(require('common/labels').of('db'))");
    db.subcharts.push(chart("plain", &[("ext/lua/x.lua", "return 1")]));
    give_library(&mut web, library("common", &files));
    web.subcharts.push(db);
    let mut test_env = test_env(&web);
    assert_eq!(test_env.listener.text(), "web/db: Info: app-db\nweb: Info: app-x");
    test_env.emit(Event::Ready, &mut context("a: 1", &[]));
    assert!(test_env.listener.text().ends_with("web/common: Info: library"));
    // Modules of a chart that is not a library cannot be required by other charts.
    let mut other = scripted("web", "require('plain/x')");
    other.subcharts.push(chart("plain", &[("ext/lua/x.lua", "return 1")]));
    assert!(refused_to_load(&other).contains("there is no such module in library charts; there are: none"));
}

#[test]
fn l_061_scripts_too_come_from_the_version_of_a_library_that_suits_all() {
    let common = |version: &str| {
        let script = format!("print('common {version}') return '{version}'");
        let files = [("ext/lua/chart.lua", script.as_str()), ("ext/lua/x.lua", script.as_str())];
        let mut library = library("common", &files);
        library.metadata.version = version.to_owned();
        library
    };
    let mut web = scripted("web", "require('common/x')");
    web.libraries.push(common("1.0.0"));
    web.libraries.push(common("3.0.0"));
    give_library(&mut web, common("2.0.0"));
    web.metadata.libraries[0].version = "<3".to_owned();
    assert_eq!(test_env(&web).listener.text(), "web/common: Info: common 2.0.0\nweb: Info: common 2.0.0");
    web.metadata.libraries.clear();
    assert!(refused_to_load(&web).contains("there is no such module in library charts; there are: none"));
}

#[test]
fn a_failing_module_of_a_library_is_shown_with_its_own_lines() {
    let mut web = scripted("web", "require('common/bad')");
    give_library(&mut web, library("common", &[("ext/lua/bad.lua", "local x = nil\nprint(x.y)")]));
    let error_chain = refused_to_load(&web);
    assert!(error_chain.contains("common/ext/lua/bad.lua:2: attempt to index nil with 'y'"), "{error_chain}");
    assert!(error_chain.contains(">    2 | print(x.y)"), "{error_chain}");
}

#[test]
fn l_041_yaml_and_the_other_modules_work() {
    let said = said(
        "print(yaml.encode({b = {1, 'two', true}, a = null, e = array(), m = {}}))
        local t = yaml.decode('a: [1, {b: null}]\\nc: []\\nd: {}')
        print(t.a[1], t.a[2].b == null, json.encode(t), #yaml.decode_all('a: 1\\n---\\n---\\nb: 2'))
        print(json.encode({x = {1, 2}, y = 0.5, s = '<a>'}), json.decode('{\"a\":[9007199254740993]}').a[1])
        print(json.pretty({a = 1}))
        print(toml.encode({a = 1, t = {b = 'x'}}), toml.decode('a = [1, 2]\\n[Error]\\nx = 1').Error.x)
        print(semver.compare('1.2.3', '1.10.0'), semver.satisfies('1.4.0', '^1.2'), semver.parse('v1.2.3-rc.1+b').prerelease)
        print(base64.encode('hi'), base64.decode('aGk='), hash.sha256(''):sub(1, 8), #hash.sha512('x'), #hash.sha1('x'))
        print(regex.match('^a+$', 'aaa'), regex.find('b+', 'abbc'), regex.find('z', 'a'), table.concat(regex.find_all('[0-9]', 'a1b2'), ','))
        print(regex.captures('(a)(x)?', 'a')[2], regex.replace('(\\\\w+)@', 'me@x', '$1 at '), #regex.split(',', 'a,b,c'), regex.quote('a.b'))
        print(template.render('{{ .name | upper | quote }} {{ include \"x\" . }}{{ define \"x\" }}{{ len .list }}{{ end }}', {name = 'n', list = {1, 2}}))
        print(template.render('{{ toYaml . }}', ctx.values.m), template.render('{{ .missing }}', {}) == '')",
    );
    let expected = "a: null\nb:\n- 1\n- two\n- true\ne: []\nm: {}\n\n1\ttrue\t{\"a\":[1,{\"b\":null}],\"c\":[],\"d\":{}}\t2\n\
         {\"s\":\"<a>\",\"x\":[1,2],\"y\":0.5}\t9007199254740993\n{\n  \"a\": 1\n}\n\
         a = 1\n\n[t]\n  b = \"x\"\n\t1\n-1\ttrue\trc.1\naGk=\thi\te3b0c442\t128\t40\n\
         true\tbb\tnil\t1,2\na\tme at x\t3\ta\\.b\n\"N\" 2\nx: 1\nz: 2\ttrue";
    assert_eq!(said, expected);
}

#[test]
fn modules_say_what_is_wrong_where_they_were_called() {
    for (body, part) in [
        ("json.decode('{')", "ext/lua/chart.lua:2: json.decode: "),
        ("yaml.decode('a: [')", "ext/lua/chart.lua:2: yaml.decode: "),
        ("toml.decode('a = ')", "ext/lua/chart.lua:2: toml.decode: toml: line 1"),
        ("toml.encode({1})", "toml.encode: a document must be a map"),
        ("semver.parse('x')", "semver.parse: \"x\": "),
        ("semver.satisfies('1.0.0', 'x y z')", "semver.satisfies: "),
        ("base64.decode('*')", "base64.decode: "),
        ("regex.match('(', 'x')", "regex.match: error parsing regexp: missing closing ): `(`"),
        ("regex.match('x')", "regex.match: argument 2 must be a string, not nil"),
        ("template.render('{{ .a.b.c }}', {a = 1})", "template.render: template: template:1:5: executing"),
        ("template.render('{{ fail \"stop\" }}')", "error calling fail: stop"),
        ("json.encode(print)", "json.encode: the value: a function cannot be kept"),
        ("json.encode({a = {print}})", "json.encode: the value.a[1]: a function cannot be kept"),
        ("local ok, why = pcall(json.decode, '{') error('caught ' .. type(why))", "caught string"),
    ] {
        let error_chain = refusal(body);
        assert!(error_chain.contains(part), "{body}: {error_chain}");
    }
}

/// A cluster with one storage class.
struct OneClass;

impl ClusterReader for OneClass {
    fn has_kind(&self, api_version: &str, kind: &str) -> Result<bool, String> {
        Ok((api_version, kind) == ("storage.k8s.io/v1", "StorageClass"))
    }

    fn read(&self, _: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Node>, String> {
        match name {
            "broken" => Err(format!("cannot read {kind} {namespace}/{name}")),
            "there" => {
                Ok(Some(Node::Map(common::tree(&format!("kind: {kind}\nmetadata: {{name: {name}}}")))))
            }
            _ => Ok(None),
        }
    }

    fn storage_classes(&self) -> Result<Vec<Node>, String> {
        Ok(vec![Node::Map(common::tree("metadata: {name: fast}"))])
    }
}

#[test]
fn l_042_scripts_look_into_the_cluster() {
    let script = "print(kubernetes.connected(), kubernetes.has('storage.k8s.io/v1', 'StorageClass'), kubernetes.has('x/v1', 'Y'))
        print(kubernetes.storage_classes()[1].metadata.name, kubernetes.get('v1', 'Pod', 'there').kind, kubernetes.get('v1', 'Pod', 'no'))
        print((select(2, pcall(kubernetes.get, 'v1', 'Pod', 'broken', 'ns'))))";
    let with = |services: &mut pintle_lua::Services| services.cluster = Some(Arc::new(OneClass));
    let test_env = try_test_env(&scripted("web", script), &Permissions::none(), with).expect("it loads");
    assert_eq!(
        test_env.listener.text().replace("web: Info: ", ""),
        "true\ttrue\tfalse\nfast\tPod\tnil\nkubernetes.get: cannot read Pod ns/broken"
    );
    assert_eq!(
        self::test_env(&scripted("web", "print(kubernetes.connected())")).listener.text(),
        "web: Info: false"
    );
}

/// A network with a single page, and a system with a single environment variable.
#[derive(Default)]
struct Outside {
    requests: Mutex<Vec<FetchRequest>>,
}

impl Fetch for Outside {
    fn fetch(&self, request: &FetchRequest, _: &Cancelled) -> Result<FetchResponse, String> {
        self.requests.lock().expect("nobody panics while holding it").push(request.clone());
        if request.url.ends_with("/secret?token=1") {
            return Err("the address 10.0.0.1 is private".to_owned());
        }
        let headers = [("content-type".to_owned(), "text/plain".to_owned())];
        Ok(FetchResponse { status: 200, headers: headers.into(), body: b"hello".to_vec() })
    }
}

impl System for Outside {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/me".to_owned())
    }

    fn now(&self) -> f64 {
        1_700_000_000.75
    }
}

const OUTSIDE: &str = "print(permissions.network, permissions.filesystem, permissions.os)
    local answer = http.get('http://example.com/a', {headers = {['X-A'] = 'b'}, timeout = 2})
    print(answer.status, answer.body, answer.headers['content-type'])
    print(http.request({url = 'https://example.com', method = 'post', body = 'x'}).status)
    print((select(2, pcall(http.get, 'https://me:pw@example.com/secret?token=1'))))
    print(os.getenv('HOME'), os.getenv('NOTHING'), os.time())
    fs.write('out.txt', 'text')
    print(fs.read('out.txt'), fs.exists('out.txt'), fs.exists('no'), table.concat(fs.list('.'), ' '))";

fn outside_chart() -> Chart {
    chart("web", &[("ext/lua/chart.lua", OUTSIDE), ("ext/permissions.yaml", "lua: [network, io, os]")])
}

#[test]
fn l_050_and_l_051_libraries_are_there_when_asked_for_and_granted() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let outside = Arc::new(Outside::default());
    let with = |services: &mut pintle_lua::Services| {
        services.network = Some(outside.clone());
        services.system = Some(outside.clone());
        services.folder = Some(folder.path().to_owned());
    };
    let test_env = try_test_env(&outside_chart(), &Permissions::all(), with);
    let test_env = test_env.unwrap_or_else(|error| panic!("{}", error_chain(&error)));
    assert_eq!(
        test_env.listener.text().replace("web: Info: ", ""),
        "true\ttrue\ttrue\n200\thello\ttext/plain\n200\nhttp.get: https://example.com/secret: the address 10.0.0.1 is private\n\
         /home/me\tnil\t1700000000\ntext\ttrue\tfalse\tout.txt"
    );
    let requests = outside.requests.lock().expect("nobody panics while holding it");
    assert_eq!((requests[0].headers["x-a"].as_str(), requests[0].timeout.as_secs()), ("b", 2));
    assert_eq!((requests[1].method.as_str(), requests[1].body.as_slice()), ("POST", &b"x"[..]));
    assert!(requests[0].max_bytes > 0);
}

#[test]
fn l_051_libraries_that_are_not_granted_or_not_asked_for_say_so() {
    let Err(error) = try_test_env(&outside_chart(), &Permissions::none(), |_| ()) else {
        panic!("it must fail")
    };
    assert!(error_chain(&error).contains(
        "ext/lua/chart.lua:2: `http` needs the permission `network`: the chart must list it in ext/permissions.yaml, and the \
         user must grant it, for example with --accept-perms network"
    ));
    let Err(error) = try_test_env(&scripted("web", OUTSIDE), &Permissions::all(), |_| ()) else {
        panic!("it must fail")
    };
    assert!(error_chain(&error).contains("`http` needs the permission `network`"));
}

#[test]
fn l_054_a_silenced_subchart_s_request_still_counts() {
    let mut web = scripted("web", "events.subchart('db'):off()");
    web.subcharts.push(chart("db", &[("ext/lua/chart.lua", ""), ("ext/permissions.yaml", "lua: [os]")]));
    assert_eq!(requested_permissions(&web).expect("good").all().to_string(), "os");
}

#[test]
fn wait_and_ready_are_asked_until_they_say_yes() {
    let script = "local turns = 0
        events.on('wait', function(ctx) turns += 1 return turns >= 3, 'not yet' end)
        events.on('ready', function(ctx) print(turns) end)";
    let mut test_env = test_env(&scripted("web", script));
    let mut context = context("a: 1", &[]);
    test_env.emit(Event::Wait, &mut context);
    test_env.emit(Event::Ready, &mut context);
    // The reason is logged while waiting, once as long as it does not change.
    assert_eq!(test_env.listener.text(), "web: Info: `wait` waits: not yet\nweb: Info: 3");
    let script = "events.on('wait', function(ctx) return false, 'the database is loading' end)";
    let short = Limits { wait: Duration::from_millis(300), ..common::limits() };
    let error_chain =
        common::limited_test_env(&scripted("web", script), &short).refused(Event::Wait, &mut context);
    assert!(error_chain.ends_with("not ready after 300ms: the database is loading"), "{error_chain}");
    // Handlers of other events may return anything: it is ignored.
    let mut other = self::test_env(&scripted("web", "events.on('pre-install', function() return false end)"));
    other.emit(Event::PreInstall, &mut context);
}

#[test]
fn cancelling_stops_a_script_and_a_wait() {
    let cancelled = |script: &str, event| {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let with = |services: &mut pintle_lua::Services| {
            services.cancelled = Arc::new(move || asked.load(Ordering::Relaxed));
        };
        let mut test_env =
            try_test_env(&scripted("web", script), &Permissions::none(), with).expect("it loads");
        stop.store(true, Ordering::Relaxed);
        test_env.refused(event, &mut context("a: 1", &[]))
    };
    let error_chain =
        cancelled("events.on('pre-render', function() while true do end end)", Event::PreRender);
    assert!(error_chain.contains("ext/lua/chart.lua:1: the operation was cancelled"), "{error_chain}");
    let error_chain = cancelled("events.on('wait', function() return false end)", Event::Wait);
    assert!(error_chain.contains("the operation was cancelled"), "{error_chain}");
}

/// A chart with `count` subcharts, all with the same script.
fn many(count: usize, script: &str) -> Chart {
    let mut web = scripted("web", "local nothing = 1");
    web.subcharts = (0..count).map(|number| scripted(&format!("db{number:03}"), script)).collect();
    web
}

#[test]
fn all_charts_together_have_limits_too() {
    let limits = Limits {
        all_steps: 600_000,
        all_time: Duration::from_secs(600),
        all_memory: 48 << 20,
        ..common::limits()
    };
    let refused = |chart: &Chart, limits: Limits| {
        let mut emitter = Emitter::new();
        let loaded = Scripts::load(chart, &Permissions::none(), &limits, &Services::default())
            .and_then(|scripts| scripts.register(&mut emitter));
        match loaded {
            Err(error) => error_chain(&error),
            Ok(()) => {
                error_chain(&emitter.emit(Event::PreRender, &mut context("a: 1", &[])).expect_err("too much"))
            }
        }
    };
    // Each of them is far below its own limits.
    let busy = "for _ = 1, 50000 do end";
    let text = refused(&many(40, busy), limits);
    assert!(text.contains("the scripts of all charts together took more than 600000 steps"), "{text}");
    let handlers = "for _ = 1, 100 do events.on('pre-render', function() for _ = 1, 10000 do end end) end";
    let text = refused(&scripted("web", handlers), limits);
    assert!(text.contains("the scripts of all charts together took more than 600000 steps"), "{text}");
    let large = "kept = {} for index = 1, 40 do kept[index] = string.rep('x', 100000) .. index end";
    let text = refused(&many(40, large), limits);
    assert!(
        text.contains("the scripts of all charts together used more memory than they may (48 MiB)"),
        "{text}"
    );
    let bare = refused(
        &many(400, "events.on('pre-render', function() end)"),
        Limits { all_memory: 4 << 20, ..limits },
    );
    assert!(bare.contains("the scripts of all charts together used more memory"), "{bare}");
    let short = Limits { all_time: Duration::from_millis(30), all_steps: u64::MAX, ..limits };
    let text = refused(&many(200, "for _ = 1, 1000000 do end"), short);
    assert!(text.contains("the scripts of all charts together took longer than 30ms"), "{text}");
}

#[test]
fn wrappers_around_wrappers_cannot_multiply_what_handlers_may_use() {
    // Each of two nested wrappers calls `next` 90 times.
    let script = "local db = events.subchart('db')
        db:wrap('pre-render', function(ctx, next) for _ = 1, 90 do next() end end)";
    let mut web =
        scripted("web", &script.replace("events.subchart('db')", "events.subchart('mid'):subchart('db')"));
    let mut mid = scripted("mid", script);
    mid.subcharts.push(scripted("db", "events.on('pre-render', function() for _ = 1, 100000 do end end)"));
    web.subcharts.push(mid);
    let limits = Limits { all_steps: 5_000_000, ..common::limits() };
    let mut emitter = Emitter::new();
    Scripts::load(&web, &Permissions::none(), &limits, &Services::default())
        .and_then(|scripts| scripts.register(&mut emitter))
        .expect("they load");
    let error = emitter.emit(Event::PreRender, &mut context("a: 1", &[])).expect_err("too much");
    assert!(error_chain(&error).contains("together took more than 5000000 steps"), "{}", error_chain(&error));
}

#[test]
fn handlers_wait_together_no_longer_than_they_may() {
    let asked = "print('asked')";
    let db = format!("local n = 0\nevents.on('ready', function() {asked}; n += 1; return n > 4, 'db' end)");
    let mut web = many(6, &db);
    let never = format!("events.on('ready', function() {asked}; return false, 'never' end)");
    web.subcharts.push(scripted("never", &never));
    let limits = Limits { wait: Duration::from_millis(400), ..common::limits() };
    let mut test_env = common::limited_test_env(&web, &limits);
    let error_chain = test_env.refused(Event::Ready, &mut context("a: 1", &[]));
    assert!(error_chain.contains("not ready after 400ms"), "{error_chain}");
    // Handlers are polled at most every 20 ms. The last one alone would be polled twenty times; all seven together are
    // polled no more often, except for the first poll of each.
    let heard = test_env.listener.text();
    let questions = heard.lines().filter(|line| line.ends_with("asked")).count();
    assert!(questions <= 20 + 7, "{questions} questions");
}

#[test]
fn a_chart_without_scripts_makes_no_state() {
    let mut web = chart("web", &[("ext/lua/other.lua", "error('never')"), ("values.yaml", "a: 1")]);
    web.subcharts.push(chart("db", &[]));
    let scripts =
        Scripts::load(&web, &Permissions::all(), &common::limits(), &pintle_lua::Services::default());
    assert!(scripts.expect("there is nothing to load").is_empty());
}

#[test]
fn states_stay_usable_after_a_handler_ran_into_a_limit() {
    let script = "events.on('pre-render', function() local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end)
        events.on('post-render', function(ctx) print(ctx.event, #json.encode({('x'):rep(1000000)})) end)";
    let mut test_env = test_env(&scripted("web", script));
    let error_chain = test_env.refused(Event::PreRender, &mut context("a: 1", &[]));
    assert!(error_chain.contains("more memory than it may"), "{error_chain}");
    test_env.emit(Event::PostRender, &mut context("a: 1", &[]));
    assert_eq!(test_env.listener.text(), "web: Info: post-render\t1000004");
}

#[test]
fn two_runs_give_the_same() {
    let body =
        "local t = {} for i = 1, 50 do t['k' .. math.random(1000)] = math.random() end ctx.values.t = t";
    assert_eq!(common::values_after("a: 1", body), common::values_after("a: 1", body));
}

#[test]
fn the_type_definitions_name_every_module_and_event() {
    let types = pintle_lua::TYPE_DEFINITIONS;
    for entry in pintle_events::TABLE {
        assert_eq!(types.contains(&format!("\"{}\"", entry.name)), !entry.core, "{}", entry.name);
    }
    let names = said(
        "local names = {}
        for name, value in _G do
            if type(value) == 'table' and name ~= '_G' then
                for member in (name == 'http' or name == 'fs' or name == 'os') and {} or value do
                    table.insert(names, name .. ' ' .. member)
                end
            end
        end
        table.sort(names)
        print(table.concat(names, ','))",
    );
    let language = ["string", "table", "math", "utf8", "bit32", "buffer", "coroutine"];
    for (module, member) in names.split(',').filter_map(|pair| pair.split_once(' ')) {
        if language.contains(&module) {
            continue;
        }
        let start =
            types.find(&format!("declare {module}: {{")).unwrap_or_else(|| panic!("{module} is declared"));
        let end = types[start..].find("\n}").or_else(|| types[start..].find('}')).expect("it ends") + start;
        assert!(types[start..=end].contains(&format!("{member}: ")), "{module}.{member} is declared");
    }
}

#[test]
fn the_type_definitions_are_well_formed() {
    // `declare` is for editors only; rewritten as locals, the compiler parses the declarations, too.
    let script = pintle_lua::TYPE_DEFINITIONS
        .replace(
            "declare function array<T>(items: { T }?): { T }",
            "local array: <T>(items: { T }?) -> { T }",
        )
        .replace("declare ", "local ");
    let findings = pintle_lua::check(&scripted("web", &script)).expect("there are no permissions");
    let found: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_table_of_rules_names_tests_that_exist() {
    let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(crate_folder.join("../../docs/contributing/lua-rules.md"))
        .expect("it is there");
    let mut checked = 0;
    for line in table.lines().filter(|line| line.starts_with("| L-")) {
        let tests = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let mut file = String::new();
        for name in tests.split('`').skip(1).step_by(2) {
            let (path, test) = name.split_once(": ").unwrap_or(("", name));
            if !path.is_empty() {
                file = path.to_owned();
            } else if name.contains('/') {
                let places = ["..", "../.."].map(|above| crate_folder.join(above).join(name));
                assert!(places.iter().any(|place| place.exists()), "{name}");
                continue;
            }
            let text = std::fs::read_to_string(crate_folder.join("..").join(&file));
            let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(&format!("fn {test}(")), "{file} has no test {test}");
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} tests are named");
}

#[test]
fn an_error_that_is_a_table_shows_what_is_in_it_and_can_still_be_caught() {
    let error_chain = |script: &str| {
        let script = format!("events.on('ready', function() {script} end)");
        test_env(&scripted("web", &script)).refused(Event::Ready, &mut context("a: 1", &[]))
    };
    let shown = error_chain("error({code = 1, 'first', why = {text = 'no'}})");
    assert!(shown.contains("{\"first\", code = 1, why = {text = \"no\"}}"), "{shown}");
    assert!(shown.contains("ext/lua/chart.lua:1"), "{shown}");
    let caught = error_chain("local ok, e = pcall(error, {code = 1}) error('code ' .. e.code)");
    assert!(caught.contains("ext/lua/chart.lua:1: code 1"), "{caught}");
    assert!(error_chain("error('plain', 0)").contains("plain"));
    assert!(error_chain("local t = {} t.t = t error(t)").contains("{t = {t = {t = {…}}}}"));
}
