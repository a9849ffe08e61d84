//! Previews, lenses, hints, links, calls, tokens, formatting, and changes that are offered.

use serde_json::{Value, json};

use super::support::{Workspace, web};

fn at(line: usize, character: usize) -> Value {
    json!({"line": line, "character": character})
}

fn ask(workspace: &mut Workspace, method: &str, params: Value) -> Value {
    workspace.server.answer(method, &params).unwrap_or_else(|failure| json!({"error": failure.message}))
}

fn preview(workspace: &mut Workspace, name: &str, scenario: &str) -> Value {
    let uri = workspace.uri(name);
    ask(workspace, "pintle/preview", json!({"textDocument": {"uri": uri}, "scenario": scenario}))
}

/// The chart with a template that writes lines of several kinds.
fn shop() -> Workspace {
    let mut files = web();
    files.retain(|(name, _)| *name != "web/templates/a.yaml");
    files.push((
        "web/templates/a.yaml",
        "kind: Service\nmetadata:\n  name: {{ include \"web.name\" . }}\nspec:\n  ports:\n  {{- range .Values.ports }}\n  - port: {{ .port }}\n  {{- end }}\n  {{- if .Values.image.digest }}\n  digest: {{ .Values.image.digest }}\n  {{- end }}\n",
    ));
    Workspace::new(&files)
}

#[test]
fn previews_show_what_a_template_writes_with_each_scenario() {
    let mut workspace = shop();
    let own = preview(&mut workspace, "web/templates/a.yaml", "");
    let text = own["text"].as_str().expect("a text");
    assert!(text.contains("name: \nweb\n") || text.contains("web"), "{text}");
    assert!(text.contains("- port: 80") && !text.contains("digest"), "{text}");
    assert!(own["uri"].as_str().expect("an address").ends_with("web!/web/templates/a.yaml?"), "{own}");
    let other = preview(&mut workspace, "web/templates/a.yaml", "ci/more-values.yaml");
    assert!(other["text"].as_str().expect("a text").contains("digest: sha"), "{other}");
    let listed = {
        let uri = workspace.uri("web/values.yaml");
        ask(&mut workspace, "pintle/scenarios", json!({"textDocument": {"uri": uri}}))
    };
    assert_eq!(listed["scenarios"][1]["name"], json!("ci/more-values.yaml"));
    let content = json!({"uri": other["uri"]});
    assert_eq!(ask(&mut workspace, "workspace/textDocumentContent", content)["text"], other["text"]);
    assert!(
        preview(&mut workspace, "web/templates/a.yaml", "nope")["error"]
            .as_str()
            .expect("why")
            .contains("nope")
    );
    assert!(
        preview(&mut workspace, "web/values.yaml", "")["error"]
            .as_str()
            .expect("why")
            .contains("no template")
    );
}

#[test]
fn the_chosen_scenario_is_the_one_of_previews() {
    let mut workspace = shop();
    let uri = workspace.uri("web/templates/a.yaml");
    let choose = json!({"textDocument": {"uri": uri}, "choose": "ci/more-values.yaml"});
    assert_eq!(ask(&mut workspace, "pintle/scenarios", choose)["chosen"], json!("ci/more-values.yaml"));
    let shown = ask(&mut workspace, "pintle/preview", json!({"textDocument": {"uri": uri}}));
    assert_eq!(shown["scenario"], json!("ci/more-values.yaml"));
    let wrong = json!({"textDocument": {"uri": uri}, "choose": "x"});
    assert!(ask(&mut workspace, "pintle/scenarios", wrong)["error"].as_str().expect("why").contains("`x`"));
}

#[test]
fn a_cursor_leads_from_a_template_to_its_lines_and_back() {
    let mut files = web();
    files.push((
        "web/templates/l.yaml",
        "a:\n{{- range list 1 2 3 }}\n- n: {{ . }}\n{{- end }}\nb: {{ include \"web.name\" . | trim }}\n",
    ));
    let mut workspace = Workspace::new(&files);
    let shown = preview(&mut workspace, "web/templates/l.yaml", "");
    assert_eq!(shown["text"], json!("a:\n- n: 1\n- n: 2\n- n: 3\nb: web\n"));
    let rendered = shown["uri"].clone();
    let uri = workspace.uri("web/templates/l.yaml");
    let mut lines = |uri: &Value, line: usize| -> Vec<String> {
        let params = json!({"textDocument": {"uri": uri}, "position": at(line, 0), "preview": rendered});
        let answer = ask(&mut workspace, "pintle/previewMap", params);
        let targets = answer["targets"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        let shown = |target: &Value| {
            let name =
                target["uri"].as_str().expect("an address").rsplit('/').next().expect("a name").to_owned();
            format!("{name}:{}", target["range"]["start"]["line"])
        };
        targets.iter().map(shown).collect()
    };
    assert_eq!(lines(&json!(uri), 2), ["l.yaml?:1", "l.yaml?:2", "l.yaml?:3"], "a loop has several lines");
    assert_eq!(lines(&json!(uri), 4), ["l.yaml?:4"]);
    assert_eq!(lines(&rendered, 2), ["l.yaml:2"]);
    assert_eq!(lines(&rendered, 4), ["l.yaml:4", "_helpers.tpl:2"], "the definition is the innermost");
    let helpers = json!(uri.replace("l.yaml", "_helpers.tpl"));
    assert_eq!(lines(&helpers, 2), ["l.yaml?:4"]);
}

#[test]
fn a_template_that_fails_shows_what_it_wrote_and_one_that_does_not_parse_its_last_text() {
    let mut files = web();
    files.push(("web/templates/f.yaml", "a: 1\nb: {{ if true }}2\n{{ fail \"no more\" }}{{ end }}\nc: 3\n"));
    files.push(("web/templates/broken.yaml", "{{ if }}"));
    let mut workspace = Workspace::new(&files);
    let shown = preview(&mut workspace, "web/templates/f.yaml", "");
    let text = shown["text"].as_str().unwrap_or_else(|| panic!("{shown}"));
    assert!(
        text.starts_with("a: 1\nb: 2\n# The template fails here:\n#") && text.contains("no more"),
        "{text}"
    );
    assert!(shown["error"].as_str().expect("why").contains("no more"));
    // Another template that does not parse is no obstacle; the first error of its own is.
    assert!(
        preview(&mut workspace, "web/templates/broken.yaml", "")["error"]
            .as_str()
            .expect("why")
            .contains("line 1")
    );
    let uri = workspace.uri("web/templates/f.yaml");
    workspace.server.open(&uri, 1, "a: 1\nb: {{ if".to_owned());
    let stale = preview(&mut workspace, "web/templates/f.yaml", "");
    let text = stale["text"].as_str().unwrap_or_else(|| panic!("{stale}"));
    assert!(text.contains("b: 2") && text.contains("the last text that could be rendered"), "{text}");
    assert!(stale["stale"].is_string());
}

#[test]
fn a_line_is_explained_by_templates_values_and_conditions() {
    let mut workspace = shop();
    let shown = preview(&mut workspace, "web/templates/a.yaml", "ci/more-values.yaml");
    let text = shown["text"].as_str().expect("a text");
    let line = text.lines().position(|line| line.contains("digest: sha")).expect("the line");
    let params = json!({"textDocument": {"uri": shown["uri"]}, "position": at(line, 0)});
    let answer = ask(&mut workspace, "pintle/explain", params);
    let about = answer["contents"]["value"].as_str().unwrap_or_else(|| panic!("{answer}"));
    for part in [
        "web/templates/a.yaml:10",
        "`.Values.image.digest` from ci/more-values.yaml:2",
        "in [web/templates/a.yaml:9]",
    ] {
        assert!(about.contains(part), "no {part:?} in {about}");
    }
    assert_eq!(answer["values"], json!(["image.digest"]));
}

#[test]
fn rendered_documents_are_of_the_workspace_only() {
    let mut workspace = shop();
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(outside.path().join("templates")).expect("a folder");
    std::fs::write(outside.path().join("Chart.yaml"), "name: o\nversion: 1.0.0\n").expect("a file");
    std::fs::write(outside.path().join("templates/a.yaml"), "secret").expect("a file");
    let folder = std::fs::canonicalize(outside.path()).expect("a folder");
    let inside = workspace.path("");
    let steps = "../".repeat(inside.components().count());
    for root in [folder.clone(), inside.join(steps).join(folder.strip_prefix("/").expect("a path"))] {
        let uri = pintle_lsp::uri::rendered(&root, "o/templates/a.yaml", "");
        let answer = ask(&mut workspace, "workspace/textDocumentContent", json!({"uri": uri}));
        assert!(answer["error"].as_str().is_some_and(|why| why.contains("outside")), "{answer}");
    }
}

#[test]
fn scenarios_of_the_settings_are_values_files_in_order_and_of_the_workspace_only() {
    let mut files = web();
    files.push(("envs/base.yaml", "replicas: 5\nimage:\n  tag: base\n"));
    files.push(("envs/prod.yaml", "image:\n  tag: prod\n"));
    files.push(("web/templates/s.yaml", "r: {{ .Values.replicas }}\nt: {{ .Values.image.tag }}\n"));
    let mut workspace = Workspace::new(&files);
    let settings = json!({"scenarios": {
        "prod": ["../envs/base.yaml", "../envs/prod.yaml"],
        "out": "/etc/hostname", "gone": "x.yaml",
    }});
    workspace.server.configure(pintle_lsp::Settings::read(&settings));
    let shown = preview(&mut workspace, "web/templates/s.yaml", "prod");
    assert_eq!(shown["text"], json!("r: 5\nt: prod\n"), "{shown}");
    let uri = workspace.uri("envs/prod.yaml");
    workspace.server.open(&uri, 1, "image: {tag: typed}\n".to_owned());
    let shown = preview(&mut workspace, "web/templates/s.yaml", "prod");
    assert_eq!(shown["text"], json!("r: 5\nt: typed\n"), "unsaved text counts");
    let uri = workspace.uri("web/values.yaml");
    let listed = ask(&mut workspace, "pintle/scenarios", json!({"textDocument": {"uri": uri}}));
    let problems = listed["problems"].to_string();
    assert!(
        problems.contains("there is no file `x.yaml`") && problems.contains("outside of the workspace"),
        "{problems}"
    );
}

#[test]
fn lenses_count_uses_and_show_how_tests_ended() {
    let mut files = web();
    files.push(("web/tests/a_test.yaml", "suite: a\ntemplates: [a.yaml]\ntests:\n- it: has a kind\n  asserts:\n  - isKind: {of: Service}\n- it: fails\n  asserts:\n  - isKind: {of: Pod}\n"));
    let mut workspace = Workspace::new(&files);
    let mut titles = |name: &str| -> Vec<String> {
        let uri = workspace.uri(name);
        let lenses = ask(&mut workspace, "textDocument/codeLens", json!({"textDocument": {"uri": uri}}));
        let lenses = lenses.as_array().expect("lenses").clone();
        let resolved = lenses.into_iter().map(|lens| ask(&mut workspace, "codeLens/resolve", lens));
        resolved.map(|lens| lens["command"]["title"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(titles("web/templates/_helpers.tpl"), ["1 use", "1 use"]);
    assert_eq!(titles("web/values.yaml")[..3], ["1 use", "1 use", "1 use"]);
    assert_eq!(titles("web/tests/a_test.yaml"), ["Run the tests", "Run", "Run"]);
}

#[test]
fn suites_run_on_the_text_in_the_editor_and_write_nothing() {
    let mut files = web();
    files.retain(|(name, _)| *name != "web/templates/a.yaml");
    files.push(("web/templates/a.yaml", "kind: Service\nname: {{ .Values.replicas }}\n"));
    files.push(("web/tests/values/v.yaml", "replicas: 9\n"));
    files.push(("web/tests/a_test.yaml", "suite: a\ntemplates: [a.yaml]\ntests:\n- it: is a service\n  asserts:\n  - isKind: {of: Service}\n- it: is the same\n  asserts:\n  - matchSnapshot: {}\n- it: reads a file\n  values: [values/v.yaml]\n  asserts:\n  - equal: {path: name, value: 9}\n- it: reads another\n  values: [../../../secret.yaml]\n  asserts:\n  - isKind: {of: Service}\n"));
    let mut workspace = Workspace::new(&files);
    let root = workspace.path("web");
    let run = |workspace: &mut Workspace| {
        let project = workspace.server.project_at(&root).expect("a chart");
        let file = project.file_named(0, "tests/a_test.yaml").expect("the suite");
        pintle_lsp::suites::run(&project, file)
    };
    let outcome = run(&mut workspace);
    let passed = |outcome: &pintle_lsp::suites::SuiteOutcome| -> Vec<bool> {
        outcome.tests.iter().map(|test| test.passed).collect()
    };
    assert_eq!(passed(&outcome), [true, true, true, false], "{outcome:?}");
    assert!(outcome.tests[3].message.contains("outside of the chart"), "{outcome:?}");
    assert!(!root.join("tests/__snapshot__").exists());
    assert_eq!(outcome.coverage["templates/a.yaml"], (2, 2), "{:?}", outcome.coverage);
    let uri = workspace.uri("web/templates/a.yaml");
    workspace.server.open(&uri, 1, "kind: Pod\nname: 9\n".to_owned());
    assert!(!passed(&run(&mut workspace))[0], "the text in the editor counts");
}

#[test]
fn scripts_are_checked_without_being_run_and_values_that_they_may_read_are_not_renamed() {
    let mut files = web();
    files.push(("web/ext/lua/chart.lua", "local x = 1\nevents.on(\"nothing\", function() end\n"));
    let mut workspace = Workspace::new(&files);
    let root = workspace.path("web");
    let project = workspace.server.project_at(&root).expect("a chart");
    let problems = pintle_lsp::diagnostics::of_chart(&project);
    let script = project.file_named(0, "ext/lua/chart.lua").expect("the script");
    let found: Vec<&str> = problems[&script].iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(found, ["script"], "{problems:?}");
    let cursor = workspace.open("web/values.yaml", "repli¦cas: 2\n");
    let answer = workspace.ask_with("textDocument/rename", &cursor, json!({"newName": "count"}));
    assert!(answer["error"].as_str().is_some_and(|why| why.contains("scripts")), "{answer}");
}

#[test]
fn a_word_that_is_left_empty_is_no_error() {
    let mut files = web();
    files.push(("web/templates/p.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: a\n    image: a:1\n    imagePullPolicy: \"\"\n    ports: [{containerPort: x}]\n"));
    let mut workspace = Workspace::new(&files);
    let project = workspace.server.project_at(&workspace.path("web")).expect("a chart");
    let problems = pintle_lsp::diagnostics::of_chart(&project);
    let file = project.file_named(0, "templates/p.yaml").expect("the template");
    let errors: Vec<&str> = problems[&file]
        .iter()
        .filter(|problem| problem.level == pintle_lsp::diagnostics::Level::Error)
        .map(|problem| problem.message.as_str())
        .collect();
    assert!(errors.len() == 1 && errors[0].contains("containerPort"), "{problems:?}");
}

#[test]
fn objects_and_definitions_are_found_in_the_workspace() {
    let mut workspace = shop();
    let mut names = |query: &str| -> Vec<String> {
        let found = ask(&mut workspace, "workspace/symbol", json!({"query": query}));
        let list = found.as_array().expect("symbols").iter();
        list.map(|symbol| symbol["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names("service"), ["Service {{ include \"web.name\" . }}"]);
    assert_eq!(names("web.p"), ["web.port"]);
}

#[test]
fn links_lead_to_files_of_the_chart() {
    let mut files = web();
    files.push((
        "web/tests/a_test.yaml",
        "templates:\n- a.yaml\n- templates/_helpers.tpl\ntests:\n- it: x\n  values: [../values.yaml]\n",
    ));
    let mut workspace = Workspace::new(&files);
    let root = workspace.uri("");
    let mut targets = |name: &str| -> Vec<String> {
        let uri = workspace.uri(name);
        let links = ask(&mut workspace, "textDocument/documentLink", json!({"textDocument": {"uri": uri}}));
        let target = |link: &Value| {
            let target = link["target"].as_str().expect("a target");
            target.strip_prefix(&root).unwrap_or(target).trim_start_matches('/').to_owned()
        };
        links.as_array().expect("links").iter().map(target).collect()
    };
    assert_eq!(targets("web/Chart.yaml"), ["web/charts/db/Chart.yaml", "web/charts/common/Chart.yaml"]);
    let suite = ["web/templates/a.yaml", "web/templates/_helpers.tpl", "web/values.yaml"];
    assert_eq!(targets("web/tests/a_test.yaml"), suite);
}

#[test]
fn definitions_know_their_callers_and_what_they_call() {
    let mut files = web();
    files.push(("web/templates/c.yaml", "{{ define \"outer\" }}{{ include \"web.name\" . }}{{ include \"web.name\" . }}{{ end }}{{ include \"outer\" . }}"));
    let mut workspace = Workspace::new(&files);
    let cursor = workspace.open("web/templates/d.yaml", "{{ include \"web.na¦me\" . }}");
    let items = workspace.ask("textDocument/prepareCallHierarchy", &cursor);
    assert_eq!(items[0]["name"], json!("web.name"), "{items}");
    let names = |calls: &Value, key: &str| -> Vec<String> {
        let list = calls.as_array().expect("calls").iter();
        list.map(|call| {
            format!(
                "{} {}",
                call[key]["name"].as_str().expect("a name"),
                call["fromRanges"].as_array().expect("ranges").len()
            )
        })
        .collect()
    };
    let callers = ask(&mut workspace, "callHierarchy/incomingCalls", json!({"item": items[0]}));
    let mut found = names(&callers, "from");
    found.sort();
    assert_eq!(found, ["outer 2", "templates/a.yaml 1", "templates/d.yaml 1"]);
    let outer = callers.as_array().expect("calls").iter().find(|call| call["from"]["name"] == json!("outer"));
    let outer = outer.expect("the definition")["from"].clone();
    let callees = ask(&mut workspace, "callHierarchy/outgoingCalls", json!({"item": outer}));
    assert_eq!(names(&callees, "to"), ["web.name 2"]);
}

#[test]
fn the_difference_of_tokens_makes_the_new_ones_of_the_old_ones() {
    let mut workspace = Workspace::new(&web());
    let uri = workspace.uri("web/templates/b.yaml");
    workspace.server.open(&uri, 1, "{{ .Values.a }}\n{{ .Values.b }}\n".to_owned());
    let document = json!({"textDocument": {"uri": uri}});
    let first = ask(&mut workspace, "textDocument/semanticTokens/full", document.clone());
    let mut known: Vec<u64> =
        first["data"].as_array().expect("numbers").iter().map(|n| n.as_u64().expect("a number")).collect();
    let mut id = first["resultId"].clone();
    let texts =
        ["{{ .Values.a }}\n{{ $x }}{{ .Values.b }}\n", "", "{{ if .a }}{{ end }}", "{{ if .a }}{{ end }}"];
    for (version, text) in texts.into_iter().enumerate() {
        workspace.server.open(&uri, 2 + version as i64, text.to_owned());
        let params = json!({"textDocument": {"uri": uri}, "previousResultId": id});
        let delta = ask(&mut workspace, "textDocument/semanticTokens/full/delta", params);
        for edit in delta["edits"].as_array().unwrap_or_else(|| panic!("{delta}")) {
            let number = |key: &str| edit[key].as_u64().expect("a number") as usize;
            let new = edit["data"].as_array().expect("numbers").iter().map(|n| n.as_u64().expect("a number"));
            known.splice(number("start")..number("start") + number("deleteCount"), new);
        }
        id = delta["resultId"].clone();
        let full = ask(&mut workspace, "textDocument/semanticTokens/full", document.clone());
        assert_eq!(full["data"], json!(known), "{text}");
    }
    let stranger = json!({"textDocument": {"uri": uri}, "previousResultId": "x"});
    assert!(ask(&mut workspace, "textDocument/semanticTokens/full/delta", stranger)["data"].is_array());
}

#[test]
fn formatting_is_off_unless_users_turn_it_on_and_keeps_what_is_rendered() {
    let mut workspace = Workspace::new(&web());
    let uri = workspace.uri("web/templates/b.yaml");
    workspace.server.open(&uri, 1, "a: {{.Values.replicas|quote}}\n".to_owned());
    let params = json!({"textDocument": {"uri": uri}, "options": {"tabSize": 2}});
    assert!(ask(&mut workspace, "textDocument/formatting", params.clone())["error"].is_string());
    workspace.server.configure(pintle_lsp::Settings::read(&json!({"formatting": true})));
    let edits = ask(&mut workspace, "textDocument/formatting", params);
    assert_eq!(edits.as_array().map(Vec::len), Some(4), "{edits}");
}

fn actions(workspace: &mut Workspace, name: &str, text: &str, reported: Value) -> Vec<(String, Value)> {
    let cursor = workspace.open(name, text);
    let position = at(cursor.line, cursor.character);
    let more = json!({"range": {"start": position, "end": position}, "context": {"diagnostics": reported}});
    let answer = workspace.ask_with("textDocument/codeAction", &cursor, more);
    let list = answer.as_array().unwrap_or_else(|| panic!("{answer}")).iter();
    list.map(|action| (action["title"].as_str().expect("a title").to_owned(), action["edit"].clone()))
        .collect()
}

fn edit_of(workspace: &mut Workspace, name: &str, text: &str, title: &str) -> String {
    let found = actions(workspace, name, text, json!([]));
    let titles: Vec<&str> = found.iter().map(|(title, _)| title.as_str()).collect();
    let action =
        found.iter().find(|(known, _)| known == title).unwrap_or_else(|| panic!("no {title} in {titles:?}"));
    let edits = action.1["documentChanges"][0]["edits"].as_array().expect("edits").clone();
    edits.iter().map(|edit| edit["newText"].as_str().expect("text").to_owned()).collect::<Vec<_>>().join("|")
}

#[test]
fn actions_are_changed_in_ways_that_are_asked_for_often() {
    let mut workspace = Workspace::new(&web());
    let template = "web/templates/b.yaml";
    assert_eq!(
        edit_of(&mut workspace, template, "a: {{ .Values.image.ta¦g }}", "Require the value"),
        "required \"image.tag must be set\" "
    );
    assert_eq!(
        edit_of(&mut workspace, template, "a: {{ .Values.image.ta¦g }}", "Use \"1\" as the default"),
        " | default \"1\""
    );
    assert_eq!(
        edit_of(&mut workspace, template, "a: {{ .Values.repli¦cas }}", "Use 2 as the default"),
        " | default 2"
    );
    assert_eq!(
        edit_of(
            &mut workspace,
            template,
            "a:\n{{ toYaml .Values.ima¦ge | indent 2 }}\nb: 1\n",
            "Use `nindent`"
        ),
        "nindent|{{-"
    );
    let found =
        actions(&mut workspace, template, "a:\n  {{ toYaml .Values.ima¦ge | indent 2 }}\n", json!([]));
    assert!(found.iter().all(|(title, _)| title != "Use `nindent`"), "the text would change: {found:?}");
    assert_eq!(
        edit_of(
            &mut workspace,
            template,
            "{{ blo¦ck \"z\" . }}x{{ end }}",
            "Split into `define` and `template`"
        ),
        "{{ define \"z\" }}x{{ end }}{{ template \"z\" . }}"
    );
    let schema = edit_of(
        &mut workspace,
        "web/values.yaml",
        "image:\n  repository: x\n  ta¦g: \"1\"\n",
        "Add `image.tag` to values.schema.json",
    );
    assert_eq!(schema, "\"tag\": {\"type\": \"string\"}, ");
    let schema = edit_of(
        &mut workspace,
        "web/values.yaml",
        "new:\n  deep: {co¦unt: 1}\n",
        "Add `new.deep.count` to values.schema.json",
    );
    assert_eq!(
        schema,
        "\"new\": {\"type\": \"object\", \"properties\": {\"deep\": {\"type\": \"object\", \"properties\": {\"count\": {\"type\": \"integer\"}}}}}, "
    );
}

#[test]
fn findings_bring_their_fixes_and_can_be_ignored() {
    let mut workspace = Workspace::new(&web());
    let range = json!({"start": at(0, 0), "end": at(0, 30)});
    let finding = json!({"range": range, "code": "removed-api", "data": {"fix": {"from": "extensions/v1beta1", "to": "apps/v1"}}});
    let found = actions(
        &mut workspace,
        "web/templates/b.yaml",
        "apiVersion: extensions/v1beta1¦\n",
        json!([finding]),
    );
    assert_eq!(found[0].0, "Replace `extensions/v1beta1` with `apps/v1`");
    let ignore = &found
        .iter()
        .find(|(title, _)| title == "Ignore `removed-api` in this file")
        .expect("it is offered")
        .1;
    assert_eq!(ignore["documentChanges"][0]["kind"], json!("create"), "{ignore}");
    let text = "ignore:\n- rule: removed-api\n  file: web/templates/b.yaml\n";
    assert_eq!(ignore["documentChanges"][1]["edits"][0]["newText"], json!(text));
    std::fs::write(workspace.path("web/.pintle-check.yaml"), text).expect("a file");
    let uri = workspace.uri("web/.pintle-check.yaml");
    workspace.server.file_changed(&uri);
    let other = json!({"range": range, "code": "latest-tag"});
    let found = actions(&mut workspace, "web/templates/b.yaml", "a: 1¦\n", json!([other]));
    let edit = &found[0].1["documentChanges"][0]["edits"][0];
    assert_eq!(edit["newText"], json!("\n- rule: latest-tag\n  file: web/templates/b.yaml"));
    assert_eq!(edit["range"]["start"], at(2, 28), "{edit}");
}

#[test]
fn hints_show_values_outcomes_and_items_and_no_secrets() {
    let mut files = web();
    files.push(("web/templates/h.yaml", "a: {{ .Values.replicas }}\n{{- if .Values.image.digest }}\nd: 1\n{{- else }}\ne: 2\n{{- end }}\n{{- range .Values.ports }}\nf: {{ .port }}\n{{- end }}\npassword: {{ .Values.password }}\ng: {{ .Values.replicas | add 1 }}\n---\nkind: Secret\nh: {{ .Values.replicas }}\n"));
    let mut workspace = Workspace::new(&files);
    let root = workspace.path("web");
    let project = workspace.server.project_at(&root).expect("a chart");
    let deeds = project.deeds(&project.scenario("").expect("its own values"));
    let file = project.file_named(0, "templates/h.yaml").expect("the template");
    let analysis = workspace.server.analysis_at(&root).expect("an analysis");
    let text = &project.file(file).text;
    let hints = |deeds| -> Vec<String> {
        let found = pintle_lsp::hints::hints(analysis, file, &(0..text.text.len()), deeds);
        found.into_iter().map(|(at, label)| format!("{}{label}", text.lines.line(at) + 1)).collect()
    };
    assert_eq!(hints(deeds.get(&file)), ["1 = 2", "2 → false", "7 1 item", "8 = 80", "11 = 3"]);
    assert_eq!(hints(None), ["1 = 2"], "without a render, what values.yaml says");
}
