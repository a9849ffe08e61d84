//! Context ⇄ Lua: what scripts see, what they may change, and that the rest is unchanged.

use crate::common;

use common::{context, objects_after, refusal, said, scripted, test_env, tree, values_after, yaml};
use pintle_events::{Context, Event};
use pintle_tree::Node;

#[test]
fn l_040_facts_are_fields_and_calls_and_refuse_changes() {
    let script = "events.on('pre-render', function(ctx)
        print(ctx.chart.name, ctx.chart.name(), ctx.chart.keywords[2], ctx.chart.keywords()[1])
        print(ctx.release.name(), ctx.release.revision, ctx.release.revision(), ctx.release.isUpgrade(), ctx.release.isInstall)
        print(ctx.capabilities.kubernetesVersion(), #ctx.capabilities.apiVersions(), ctx.event, ctx.chart.home() == '')
        for _, body in {
            function() ctx.chart.name = 'x' end,
            function() ctx.chart.keywords[1] = 'x' end,
            function() ctx.release.extra = 1 end,
            function() ctx.capabilities = {} end,
            function() ctx.event = 'x' end,
            function() table.insert(ctx.chart.keywords, 'x') end,
            function() rawset(ctx.chart, 'name', 'x') end,
            function() ctx.other = 1 end,
            function() ctx.objects = {} end,
            function() ctx.values = 1 end,
        } do
            print((select(2, pcall(body))))
        end
    end)";
    let mut test_env = test_env(&scripted("web", script));
    test_env.emit(Event::PreRender, &mut context("a: 1", &[]));
    let text = test_env.listener.text().replace("web: Info: ", "");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "web\tweb\ttwo\tone");
    assert_eq!(lines[1], "prod\t7\t7\ttrue\tfalse");
    assert_eq!(lines[2], "v1.36.3\t2\tpre-render\ttrue");
    let refused = [
        "`chart.name` is read-only",
        "`chart.keywords[1]` is read-only",
        "`release.extra` is read-only",
        "`capabilities` is read-only",
        "`event` is read-only",
        "`chart.keywords` is read-only",
        "`chart` is read-only",
        "the context has no field `other`; its fields are event, chart, values, release, capabilities, readiness, files, templates, \
         dependencies, objects",
        "`objects` is read-only in `pre-render`",
        "`values` must be a table, not a number",
    ];
    for (line, part) in lines[3..].iter().zip(refused) {
        assert!(
            line.starts_with("ext/lua/chart.lua:") && line.ends_with(part),
            "{line} should end with {part}"
        );
    }
    assert_eq!(lines.len(), 3 + refused.len());
}

#[test]
fn each_event_opens_only_its_parts() {
    for entry in pintle_events::TABLE.iter().filter(|entry| !entry.core) {
        let script = format!(
            "events.on('{}', function(ctx)
                for _, part in {{'values', 'files', 'templates', 'dependencies', 'objects'}} do
                    print(part, (pcall(function() ctx[part].x = 1 end)), (pcall(function() ctx[part] = {{}} end)))
                end
            end)",
            entry.name
        );
        let mut test_env = test_env(&scripted("web", &script));
        // The part is writable, so the value is rejected only later, because it is not a file.
        let _ = test_env.emitter.emit(entry.event, &mut context("a: 1", &["{apiVersion: v1, kind: Pod}"]));
        for line in test_env.listener.text().lines() {
            let words: Vec<&str> = line.trim_start_matches("web: Info: ").split('\t').collect();
            let may = entry.may_change.iter().any(|part| part.as_str() == words[0]);
            assert_eq!(
                (words[1], words[2]),
                (may.to_string().as_str(), may.to_string().as_str()),
                "{} {line}",
                entry.name
            );
        }
        assert_eq!(test_env.listener.text().lines().count(), 5, "{}", entry.name);
    }
}

#[test]
fn values_change_where_they_were_changed() {
    let before = "a: 1\nb:\n  c: [1, 2, {d: x}]\n  e: old\nz: gone\n";
    let body = "ctx.values.b.e = 'new'\nctx.values.b.c[3].d = nil\ntable.insert(ctx.values.b.c, 4)\nctx.values.z = nil\n\
                ctx.values.fresh = {list = {1, 2}, empty = {}, none = array(), nothing = null, on_ = true, half = 0.5}";
    assert_eq!(
        values_after(before, body),
        "a: 1\nb:\n  c:\n  - 1\n  - 2\n  - {}\n  - 4\n  e: new\nfresh:\n  empty: {}\n  half: 0.5\n  list:\n  - 1\n  - 2\n  \
         none: []\n  nothing: null\n  on_: true\n"
    );
}

#[test]
fn what_is_not_changed_comes_back_to_the_last_digit() {
    let text = "big: 9007199254740993\nmost: 9223372036854775807\nleast: -9223372036854775808\n\
                list: []\nmap: {}\nnothing: null\ndeep: {big: [9007199254740993, 1.5e300]}\n";
    let mut before = tree(text);
    before.insert("float".into(), Node::Float(3.0));
    // Reading everything, and writing equal values, is not a change.
    let body = "local function walk(t)
        for key, value in t do
            t[key] = value
            if type(value) == 'table' then walk(value) end
        end
    end
    walk(ctx.values)
    assert(tostring(ctx.values.big) == '9007199254740993')
    assert(ctx.values.big == ctx.values.deep.big[1])
    assert(ctx.values.big < ctx.values.most and ctx.values.least <= ctx.values.big)
    assert(ctx.values.big:number() == 9007199254740992)
    ctx.values.copy = ctx.values.deep
    ctx.values.moved = ctx.values.most";
    let script = format!("events.on('pre-render', function(ctx)\n{body}\nend)");
    let mut test_env = test_env(&scripted("web", &script));
    let mut context = Context::default().with_values(before.clone());
    test_env.emit(Event::PreRender, &mut context);
    let mut expected = before.clone();
    expected.insert("copy".into(), before.get("deep").cloned().expect("it is there"));
    expected.insert("moved".into(), Node::Int(i64::MAX));
    assert_eq!(context.all_values(), &expected);
    assert!(matches!(context.all_values().get("float"), Some(Node::Float(_))), "3.0 stays a float");
}

#[test]
fn the_language_s_own_functions_see_through_the_context() {
    let body = "local v = ctx.values
        print(next(v.l), rawlen(ctx.values.l), #v.l, rawget(v.m, 'x'), table.concat(v.l, '+'), table.find(v.l, 2))
        local keys = {}
        for k in pairs(v.m) do table.insert(keys, k) end
        for k in v.m do table.insert(keys, k) end
        table.sort(keys)
        print(table.concat(keys, ' '), select('#', table.unpack(v.l)), unpack(v.l))
        for i, x in ipairs(v.l) do print(i, x) end
        print(#table.clone(v.l), v.nothing == null, v.nothing == nil, tostring(v.nothing), v.missing == nil, type(v.m), #v.e)
        table.move(v.l, 1, 2, 3)
        table.remove(v.l, 1)
        print(table.concat(v.l, ' '))";
    assert_eq!(
        said(body),
        "1\t2\t2\t1\t1+2\t2\nx x z z\t2\t1\t2\n1\t1\n2\t2\n2\ttrue\tfalse\tnull\ttrue\ttable\t0\n2 1 2"
    );
}

#[test]
fn read_only_trees_are_looked_at_in_every_way() {
    let script = "events.on('post-render', function(ctx)
        local v = ctx.values
        for k, x in v.m do print(k, x) end
        for i, x in ipairs(v.l) do print(i, x) end
        print(#v.l, table.concat(v.l, ','), table.unpack(v.l))
        print(json.encode(v), table.isfrozen(v.l))
        print((select(2, pcall(function() v.m.x = 2 end))))
        print((select(2, pcall(table.insert, v.l, 2))))
        print((select(2, pcall(table.sort, v.l))))
        print((select(2, pcall(table.clear, v))))
        local copy = table.clone(v.l)
        copy[1] = 'mine'
        print(copy[1], v.l[1])
        ctx.objects[1].data = v.m
        ctx.objects[1].list = copy
    end)";
    let mut test_env = test_env(&scripted("web", script));
    let mut context =
        context("m: {x: 1}\nl: [5, 6]", &["{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"]);
    test_env.emit(Event::PostRender, &mut context);
    assert_eq!(
        test_env.listener.text().replace("web: Info: ", ""),
        "x\t1\n1\t5\n2\t6\n2\t5,6\t5\t6\n{\"l\":[5,6],\"m\":{\"x\":1}}\ttrue\n\
         ext/lua/chart.lua:7: `values.m.x` is read-only in `post-render`\n\
         `values.l` is read-only in `post-render`\n`values.l` is read-only in `post-render`\n\
         `values` is read-only in `post-render`\nmine\t5"
    );
    let objects = context.take_objects();
    assert_eq!(
        yaml(objects[0].object.body()),
        "apiVersion: v1\ndata:\n  x: 1\nkind: ConfigMap\nlist:\n- mine\n- 6\nmetadata:\n  name: c\n"
    );
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {a: [1, 9007199254740993]}}";
const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: s}}";

#[test]
fn objects_are_changed_added_moved_and_removed() {
    let body = "ctx.objects[1].metadata.labels = {app = ctx.release.name}
        ctx.objects[1], ctx.objects[2] = ctx.objects[2], ctx.objects[1]
        table.insert(ctx.objects, {apiVersion = 'v1', kind = 'Secret', metadata = {name = 'n'}})
        table.insert(ctx.objects, 1, table.remove(ctx.objects, 2))";
    assert_eq!(
        objects_after(&[POD, SERVICE], body),
        "# Some(\"web/templates/0.yaml\")\napiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    app: prod\n  name: p\nspec:\n  \
         a:\n  - 1\n  - 9007199254740993\n---\n# Some(\"web/templates/1.yaml\")\napiVersion: v1\nkind: Service\nmetadata:\n  name: \
         s\n---\n# None\napiVersion: v1\nkind: Secret\nmetadata:\n  name: \"n\"\n"
    );
    assert_eq!(objects_after(&[POD, SERVICE], "ctx.objects = {}"), "");
    let doubled = objects_after(&[SERVICE], "ctx.objects = {ctx.objects[1], ctx.objects[1]}");
    assert_eq!(doubled.matches("name: s\n").count(), 2);
    let sorted = objects_after(
        &[SERVICE, POD],
        "table.sort(ctx.objects, function(a, b) return a.kind < b.kind end) ctx.objects[1].x = 1",
    );
    assert!(sorted.starts_with("# Some(\"web/templates/1.yaml\")") && sorted.contains("x: 1"), "{sorted}");
}

#[test]
fn objects_that_are_none_are_refused() {
    for (body, part) in [
        ("ctx.objects[1] = 'x'", "objects[1]: an object must be a map, not a string"),
        ("ctx.objects[3] = {kind = 'Pod'}", "objects: the list has nothing at 2; a map needs texts as keys"),
        ("ctx.objects[2] = {kind = 'Pod'}", "objects[2]: an object must have the text `apiVersion`"),
        ("ctx.objects[1].kind = nil", "objects[1]: an object must have the text `kind`"),
        ("ctx.objects[1].metadata.name = nil", "objects[1]: an object must have the text `metadata.name`"),
        ("ctx.objects[1].metadata.name = 7", "objects[1]: an object must have the text `metadata.name`"),
        ("ctx.objects[1].metadata = nil", "objects[1]: an object must have the text `metadata.name`"),
        ("ctx.objects.x = 1", "objects: the table has both texts and numbers as keys"),
        ("ctx.objects[2] = array()", "objects[2]: an object must be a map, not a table"),
    ] {
        let script = format!("events.on('post-render', function(ctx) {body} end)");
        let mut test_env = test_env(&scripted("web", &script));
        let error_chain = test_env.refused(Event::PostRender, &mut context("a: 1", &[SERVICE]));
        assert!(error_chain.contains(part), "{body}: {error_chain}");
    }
}

#[test]
fn l_010_templates_and_files_are_lists_that_can_be_emptied_and_added_to() {
    let script = "events.on('pre-render', function(ctx)
        print(#ctx.templates, ctx.templates[1].name, ctx.templates[1].data, #ctx.objects)
        ctx.templates = {}
        ctx.files[1].data = 'bye'
        table.insert(ctx.files, {name = 'more/x.txt', data = '1'})
    end)";
    let mut test_env = test_env(&scripted("web", script));
    let mut context = context("a: 1", &[]);
    test_env.emit(Event::PreRender, &mut context);
    assert_eq!(test_env.listener.text(), "web: Info: 1\ttemplates/a.yaml\ta: {{ .Values.a }}\t0");
    let web = context.all_charts().iter().find(|part| part.facts.name == "web").expect("it is there");
    assert!(web.templates.is_empty());
    let files: Vec<(&str, String)> =
        web.files.iter().map(|file| (file.name.as_str(), file.data.to_string())).collect();
    assert_eq!(files, [("notes.txt", "bye".to_owned()), ("more/x.txt", "1".to_owned())]);
}

#[test]
fn files_that_are_none_are_refused() {
    for (body, part) in [
        ("ctx.files[1].name = '../x'", "files[1].name must be a path inside the chart, not \"../x\""),
        ("ctx.files[1].name = '/etc/x'", "files[1].name must be a path inside the chart"),
        ("ctx.files[1].data = 1", "files[1].data must be a string"),
        ("ctx.files[1].mode = 1", "files[1] has no field `mode`; its fields are name, data"),
        ("ctx.files[2] = 'x'", "files[2] must be a table"),
        ("ctx.templates = {x = 1}", "templates must be a list"),
    ] {
        let error_chain = refusal(body);
        assert!(error_chain.contains(part), "{body}: {error_chain}");
    }
}

#[test]
fn l_010_dependencies_change_before_they_are_built() {
    let script = "events.on('pre-dependency-build', function(ctx)
        table.insert(ctx.dependencies, {name = 'db', version = '1', repository = 'file://db'})
    end)";
    let mut test_env = test_env(&scripted("web", script));
    let mut context = context("a: 1", &[]);
    test_env.emit(Event::PreDependencyBuild, &mut context);
    let web = context.all_charts().iter().find(|part| part.facts.name == "web").expect("it is there");
    assert_eq!(web.dependencies[0].repository, "file://db");
}

#[test]
fn events_without_a_chart_have_none() {
    let script = "events.on('pre-delete', function(ctx)
        print(ctx.chart == nil, ctx.release.name, ctx.templates == nil, ctx.event)
    end)";
    let mut test_env = test_env(&scripted("web", script));
    let release = pintle_events::ReleaseInfo { name: "r".into(), ..Default::default() };
    test_env.emit(Event::PreDelete, &mut Context::default().with_release(release));
    assert_eq!(test_env.listener.text(), "web: Info: true\tr\ttrue\tpre-delete");
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_path() {
    for (body, part) in [
        ("ctx.values.f = function() end", "values.f: a function cannot be kept"),
        ("ctx.values.m.co = coroutine.create(print)", "values.m.co: a coroutine cannot be kept"),
        ("ctx.values.l[1] = buffer.create(1)", "values.l[1]: a buffer cannot be kept"),
        ("ctx.values.x = {[1] = 1, y = 2}", "values.x: the table has both texts and numbers as keys"),
        ("ctx.values.x = {[3] = 1}", "values.x: the list has nothing at 1; a map needs texts as keys"),
        ("ctx.values.x = {[1.5] = 1}", "values.x: the number 1.5 cannot be a key"),
        ("ctx.values.x = {[true] = 1}", "values.x: a boolean cannot be a key"),
        ("ctx.values.x = 0 / 0", "values.x: a number that is infinite or undefined cannot be kept"),
        ("ctx.values['a b'] = math.huge", "values[\"a b\"]: a number that is infinite"),
        ("local t = {} t.t = t ctx.values.t = t", "values.t.t: the table contains itself"),
        ("ctx.values.m.m = ctx.values", "values.m.m: the table contains itself"),
        ("ctx.values = {1, 2}", "values: it must be a map, not a list"),
    ] {
        let error_chain = refusal(body);
        assert!(error_chain.contains(part), "{body}: {error_chain}");
    }
}

#[test]
fn a_part_of_the_context_is_gone_when_its_handler_has_returned() {
    let script = "local kept, context
        events.on('pre-render', 0.1, function(ctx) kept = {ctx.values.m, ctx.chart} context = ctx end)
        events.on('pre-render', 0.2, function()
            for _, use in {
                function() return kept[1].x end, function() kept[1].x = 1 end, function() return #kept[1] end,
                function() for _ in kept[1] do end end, function() return next(kept[1]) end,
                function() return kept[2].name end, function() table.insert(kept[1], 1) end,
                function() for _ in pairs(kept[2]) do end end,
            } do print((select(2, pcall(use)))) end
            print(context.values.a)
        end)";
    let mut test_env = test_env(&scripted("web", script));
    test_env.emit(Event::PreRender, &mut context("a: 1\nm: {x: 1}", &[]));
    let text = test_env.listener.text();
    assert_eq!(text.matches("this part of the context is gone").count(), 8, "{text}");
    assert!(text.ends_with("web: Info: 1"), "the context itself is that of the running handler: {text}");
}

#[test]
fn changes_of_a_handler_that_fails_are_not_taken() {
    let script = "events.on('pre-render', function(ctx) ctx.values.a = 2 error('no') end)";
    let mut test_env = test_env(&scripted("web", script));
    let mut context = context("a: 1", &[]);
    test_env.refused(Event::PreRender, &mut context);
    assert_eq!(yaml(context.all_values()), "a: 1\n");
}

#[test]
fn a_listener_receives_what_changed() {
    let script = "events.on('pre-render', function(ctx)
        ctx.values.image.tag = 'x' ctx.values.image.old = nil ctx.values.new = {1} ctx.values['a.b'] = 2
    end)
    events.on('post-render', function(ctx) ctx.objects[1].metadata.name = 'y' end)
    events.on('post-render', function(ctx) return ctx.objects[1].kind end)";
    let mut test_env = test_env(&scripted("web", script));
    let mut context = context("image: {tag: v1, old: 1}", &[SERVICE]);
    test_env.emit(Event::PreRender, &mut context);
    test_env.emit(Event::PostRender, &mut context);
    assert_eq!(
        *test_env.listener.changes.lock().expect("nobody panics while holding it"),
        [
            "web pre-render ext/lua/chart.lua:1 values.image.tag values.image.old values[\"a.b\"] values.new",
            "web post-render ext/lua/chart.lua:4 objects[1].metadata.name",
        ]
    );
}

#[test]
fn a_subchart_s_handler_sees_its_own_scope() {
    let script = "events.on('pre-render', function(ctx) ctx.values.size = 2 print(ctx.chart.name) end)";
    let mut parent = scripted("web", "");
    parent.subcharts.push(scripted("db", script));
    let mut test_env = test_env(&parent);
    let mut context = context("db: {size: 1}", &[]);
    test_env.emit(Event::PreRender, &mut context);
    assert_eq!(yaml(context.all_values()), "db:\n  size: 2\n");
    assert_eq!(test_env.listener.text(), "web/db: Info: db");
}
