//! Definitions, references, hovers and renames.

use serde_json::json;

use super::support::{Workspace, web};

#[track_caller]
fn defined(text: &str, wanted: &[&str]) {
    let mut workspace = Workspace::new(&web());
    let cursor = workspace.open("web/templates/b.yaml", text);
    let answer = workspace.ask("textDocument/definition", &cursor);
    assert_eq!(workspace.places(&answer), wanted, "{text}");
}

#[test]
fn values_are_defined_where_files_set_them() {
    defined("{{ .Values.image.ta¦g }}", &["web/values.yaml:5:3"]);
    defined("{{ .Values.im¦age.tag }}", &["web/values.yaml:2:1", "web/ci/more-values.yaml:1:1"]);
    defined("{{ .Values.store.si¦ze }}", &["web/values.yaml:15:3", "web/charts/db/values.yaml:1:1"]);
    defined("{{ range .Values.ports }}{{ .po¦rt }}{{ end }}", &["web/values.yaml:9:3"]);
    defined("{{ with .Values.image }}{{ .ta¦g }}{{ end }}", &["web/values.yaml:5:3"]);
    defined("{{ $x := .Values.image }}{{ $x.ta¦g }}", &["web/values.yaml:5:3"]);
    defined("{{ index .Values.image \"ta¦g\" }}", &["web/values.yaml:5:3"]);
    defined("{{ .Values.glo¦bal.zone }}", &["web/values.yaml:16:1"]);
    defined("{{ .Va¦lues }}", &["web/values.yaml:1:1", "web/ci/more-values.yaml:1:1"]);
    defined("{{ .Values.no¦pe }}", &[]);
}

#[test]
fn names_lead_to_what_they_mean() {
    defined("{{ include \"web.na¦me\" . }}", &["web/templates/_helpers.tpl:2:13"]);
    defined("{{ template \"common.la¦bels\" . }}", &["web/charts/common/templates/_l.tpl:1:12"]);
    defined("{{ $x := 1 }}{{ if 1 }}{{ $x := 2 }}{{ $¦x }}{{ end }}", &["web/templates/b.yaml:1:27"]);
    defined("{{ $x := 1 }}{{ if 1 }}{{ $x := 2 }}{{ end }}{{ $x¦ }}", &["web/templates/b.yaml:1:4"]);
    defined("{{ range $i, $e := .Values.ports }}{{ $e¦. }}{{ end }}", &["web/templates/b.yaml:1:14"]);
    defined("{{ .Chart.Na¦me }}", &["web/Chart.yaml:2:1"]);
    defined("{{ .Chart.AppVer¦sion }}", &["web/Chart.yaml:4:1"]);
    defined("{{ .Files.Get \"files/co¦nf.txt\" }}", &["web/files/conf.txt:1:1"]);
    defined(
        "{{ if 1 }}{{ else }}{{ en¦d }}",
        &["web/templates/b.yaml:1:4", "web/templates/b.yaml:1:14", "web/templates/b.yaml:1:24"],
    );
}

#[test]
fn from_a_subchart_and_from_values_files() {
    let mut workspace = Workspace::new(&web());
    let cursor = workspace.open("web/charts/db/templates/s.yaml", "{{ .Values.si¦ze }}");
    let answer = workspace.ask("textDocument/definition", &cursor);
    assert_eq!(workspace.places(&answer), ["web/values.yaml:15:3", "web/charts/db/values.yaml:1:1"]);
    let cursor =
        workspace.open("web/charts/db/templates/s.yaml", "{{ .Values.size }}{{ .Values.global.zo¦ne }}");
    let answer = workspace.ask("textDocument/definition", &cursor);
    assert_eq!(workspace.places(&answer), ["web/values.yaml:17:3"]);
    let cursor = workspace.open("web/charts/db/values.yaml", "si¦ze: 1Gi\n");
    let answer = workspace.ask("textDocument/definition", &cursor);
    assert_eq!(workspace.places(&answer), ["web/values.yaml:15:3", "web/charts/db/values.yaml:1:1"]);
}

#[test]
fn references_are_found_through_variables_and_definitions() {
    let mut workspace = Workspace::new(&web());
    let cursor =
        workspace.open("web/values.yaml", "image:\n  repository: nginx\nrepli¦cas: 2\nports:\n- port: 80\n");
    let answer = workspace.ask("textDocument/references", &cursor);
    assert_eq!(workspace.places(&answer), ["web/values.yaml:3:1", "web/templates/_helpers.tpl:6:32"]);
    let cursor =
        workspace.open("web/values.yaml", "image:\n  repository: nginx\nreplicas: 2\nports:\n- po¦rt: 80\n");
    let answer = workspace.ask("textDocument/references", &cursor);
    assert_eq!(workspace.places(&answer), ["web/values.yaml:5:3", "web/templates/_helpers.tpl:6:10"]);
    let cursor =
        workspace.open("web/templates/a.yaml", "{{ include \"web.na¦me\" . }}{{ template \"web.name\" . }}");
    let answer = workspace.ask("textDocument/references", &cursor);
    assert_eq!(
        workspace.places(&answer),
        ["web/templates/_helpers.tpl:2:13", "web/templates/a.yaml:1:13", "web/templates/a.yaml:1:40"]
    );
    let cursor = workspace.open(
        "web/templates/b.yaml",
        "{{ $x := 1 }}{{ $x }}{{ define \"d\" }}{{ $x := 2 }}{{ $x¦ }}{{ end }}",
    );
    let answer = workspace.ask("textDocument/references", &cursor);
    assert_eq!(workspace.places(&answer).len(), 2, "{answer}");
}

#[track_caller]
fn hovers(text: &str, wanted: &[&str]) {
    let mut workspace = Workspace::new(&web());
    let cursor = workspace.open("web/templates/b.yaml", text);
    let answer = workspace.ask("textDocument/hover", &cursor);
    let shown = answer["contents"]["value"].as_str().unwrap_or_default();
    for part in wanted {
        assert!(shown.contains(part), "{text}: no {part:?} in {shown}");
    }
}

#[test]
fn hovers_show_values_comments_schemas_and_signatures() {
    hovers("{{ .Values.image.repo¦sitory }}", &["nginx", "web/values.yaml:4", "Where it is."]);
    hovers("{{ .Values.im¦age }}", &["The image.", "repository: nginx", "ci/more-values.yaml"]);
    hovers("{{ .Values.image.pullPol¦icy }}", &["When to pull."]);
    hovers("{{ .Values.store.si¦ze }}", &["5Gi", "1Gi"]);
    hovers("{{ toY¦aml .Values }}", &["toYaml(any) string", "as YAML"]);
    hovers("{{ include \"web.na¦me\" . }}", &["The name.", "{{ .Chart.Name }}", "the context of `web`"]);
    hovers("{{ .Chart.Na¦me }}", &["name: web"]);
    hovers("{{ .Release.Na¦mespace }}", &["namespace"]);
    hovers("{{ $x := .Values.image }}{{ $¦x }}", &[".Values.image"]);
    hovers("{{ range .Values.ports }}{{ .¦ }}{{ end }}", &[".Values.ports[*]"]);
}

fn rename(text: &str, name: &str, to: &str) -> Result<Vec<String>, String> {
    let mut workspace = Workspace::new(&web());
    let cursor = workspace.open(name, text);
    let answer = workspace.ask_with("textDocument/rename", &cursor, json!({"newName": to}));
    if let Some(error) = answer["error"].as_str() {
        return Err(error.to_owned());
    }
    let root = workspace.uri("");
    let mut edits = Vec::new();
    for change in answer["documentChanges"].as_array().expect("changes") {
        let uri = change["textDocument"]["uri"].as_str().expect("an address");
        for edit in change["edits"].as_array().expect("edits") {
            let start = &edit["range"]["start"];
            let name = uri.strip_prefix(&root).unwrap_or(uri).trim_start_matches('/');
            edits.push(format!(
                "{name}:{}:{} {}",
                start["line"],
                start["character"],
                edit["newText"].as_str().expect("text")
            ));
        }
    }
    Ok(edits)
}

#[test]
fn names_are_changed_everywhere_or_nowhere() {
    let edits = rename("{{ $x := 1 }}a: {{ $x¦ }}", "web/templates/b.yaml", "y").expect("a rename");
    assert_eq!(edits, ["web/templates/b.yaml:0:3 $y", "web/templates/b.yaml:0:19 $y"]);
    let edits =
        rename("{{ define \"web.b¦\" }}{{ end }}", "web/templates/b.yaml", "web.c").expect("a rename");
    assert_eq!(edits, ["web/templates/b.yaml:0:11 web.c"]);
    let values = "image:\n  repository: nginx\nrepli¦cas: 2\nports:\n- port: 80\n";
    let edits = rename(values, "web/values.yaml", "count").expect("a rename");
    assert_eq!(edits, ["web/templates/_helpers.tpl:5:31 count", "web/values.yaml:2:0 count"]);
    let refused_condition = rename("{{ .Values.store.ena¦bled }}", "web/templates/b.yaml", "on");
    assert!(refused_condition.expect_err("a refusal").contains("condition `store.enabled`"));
    let refused = |text: &str, name: &str, to: &str| rename(text, name, to).expect_err("a refusal");
    assert!(refused("{{ $x := 1 }}{{ $y := 2 }}{{ $x¦ }}", "web/templates/b.yaml", "y").contains("already"));
    assert!(refused("{{ .Values.glo¦bal.zone }}", "web/templates/b.yaml", "x").contains("global"));
    assert!(
        refused("{{ .Values.image.ta¦g }}{{ toYaml .Values.image }}", "web/templates/b.yaml", "x")
            .contains("differently")
    );
    assert!(refused("{{ .Release.Na¦me }}", "web/templates/b.yaml", "x").contains("Helm"));
    assert!(refused(values, "web/values.yaml", "a-b").contains("not a name"));
}

#[test]
fn hovers_describe_fields_of_kubernetes_objects() {
    hovers(
        "apiVersion: v1\nkind: Service\nspec:\n  po¦rts:\n  - port: {{ .Values.replicas }}\n",
        &["`ports` []ServicePort", "list of ports"],
    );
}

fn actions(text: &str) -> Vec<(String, String)> {
    let mut workspace = Workspace::new(&web());
    let cursor = workspace.open("web/templates/b.yaml", text);
    let at = json!({"line": cursor.line, "character": cursor.character});
    let answer =
        workspace.ask_with("textDocument/codeAction", &cursor, json!({"range": {"start": at, "end": at}}));
    let list = answer.as_array().expect("actions").iter();
    list.map(|action| (action["title"].as_str().expect("a title").to_owned(), action["edit"].to_string()))
        .collect()
}

#[test]
fn changes_are_offered_where_they_make_sense() {
    let found = actions("{{ .Values.image.no¦pe }}");
    assert_eq!(found[0].0, "Add `image.nope` to values.yaml");
    assert!(found[0].1.contains("\\n  nope: \\\"\\\""), "{}", found[0].1);
    let quotes = |text: &str| actions(text).iter().any(|(title, _)| title == "Quote the value");
    assert!(!quotes("{{ .Values.image.ta¦g }}"));
    assert_eq!(actions("a: {{ .Values.image.ta¦g }}")[0].0, "Quote the value");
    assert!(!quotes("a: {{ .Values.image.ta¦g | quote }}"));
    let found = actions("kind: Pod\nspec:\n  hostname: al¦pha\n");
    assert_eq!(found[0].0, "Move to values.yaml as `hostname`");
    assert!(
        found[0].1.contains("{{ $.Values.hostname }}") && found[0].1.contains("hostname: alpha"),
        "{}",
        found[0].1
    );
}

#[test]
fn suites_that_set_a_value_follow_its_name() {
    let mut files = web();
    files.push(("web/tests/a_test.yaml", "suite: a\nset:\n  replicas: 3\ntests:\n- it: b\n  set:\n    \"replicas\": 4\n    image.replicas: 1\n"));
    let mut workspace = Workspace::new(&files);
    let cursor =
        workspace.open("web/values.yaml", "image:\n  repository: nginx\nrepli¦cas: 2\nports:\n- port: 80\n");
    let answer = workspace.ask_with("textDocument/rename", &cursor, json!({"newName": "count"}));
    let suite = workspace.uri("web/tests/a_test.yaml");
    let changes = answer["documentChanges"].as_array().expect("changes").clone();
    let change =
        changes.iter().find(|change| change["textDocument"]["uri"] == json!(suite)).expect("the suite");
    let starts: Vec<String> = change["edits"]
        .as_array()
        .expect("edits")
        .iter()
        .map(|edit| edit["range"]["start"].to_string())
        .collect();
    assert_eq!(starts, ["{\"character\":2,\"line\":2}", "{\"character\":5,\"line\":6}"]);
}
