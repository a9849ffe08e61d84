//! Cases by what is under the cursor, one table for each kind of question. docs/contributing/editor-cases.md lists them; a test
//! compares.

use serde_json::{Value, json};

use super::support::Workspace;

/// A question at the cursor `¦` of a text, and what its answer must have. What starts with `!` must not be there.
struct Case {
    group: &'static str,
    what: &'static str,
    file: &'static str,
    text: &'static str,
    wanted: &'static [&'static str],
}

const fn case(
    group: &'static str,
    what: &'static str,
    file: &'static str,
    text: &'static str,
    wanted: &'static [&'static str],
) -> Case {
    Case { group, what, file, text, wanted }
}

const T: &str = "shop/templates/t.yaml";
const VALUES: &str = "shop/values.yaml";

/// What is offered.
const COMPLETION: [Case; 34] = [
    case("completion", "empty action", T, "a: {{ ¦ }}", &["include", "quote", ".Values", "!end"]),
    case("completion", "text", T, "metadata:\n  # a wo¦rd\n", &["!include", "!.Values"]),
    case(
        "completion",
        "`.Values.`",
        T,
        "{{ .Values.¦ }}",
        &["image", "replicas", "rate", "list", "global", "store", "!repository"],
    ),
    case("completion", "`.Values.re`", T, "{{ .Values.re¦ }}", &["replicas"]),
    case(
        "completion",
        "inside `and (…)`",
        T,
        "{{ if and (.Values.¦) .Values.image }}{{ end }}",
        &["image", "replicas"],
    ),
    case("completion", "before an existing field", T, "{{ .Values.¦image.tag }}", &["image", "list"]),
    case("completion", "nested field", T, "{{ .Values.image.¦ }}", &["repository", "tag"]),
    case("completion", "value of an unclosed action", T, "{{ .Values.image.¦\nb: 1\n", &["repository"]),
    case("completion", "`.Chart.N`", T, "{{ .Chart.N¦ }}", &["Name"]),
    case(
        "completion",
        "lone dot",
        T,
        "{{ .¦ }}",
        &["Values", "Chart", "Release", "Files", "Capabilities", "Template"],
    ),
    case("completion", "`toY`", T, "{{ toY¦ }}", &["toYaml"]),
    case("completion", "`$`", T, "{{ $one := 1 }}{{ $¦ }}", &["$one", "$"]),
    case("completion", "`$.`", T, "{{ range .Values.list }}{{ $.¦ }}{{ end }}", &["Values", "Release"]),
    case("completion", "`$v`", T, "{{ $value := 1 }}{{ $v¦ }}", &["$value"]),
    case("completion", "unknown object", T, "{{ .Nothing.¦ }}", &["!Values", "!Name", "!image"]),
    case("completion", "`.Release.N`", T, "{{ .Release.N¦ }}", &["Name", "Namespace"]),
    case("completion", "`KubeVersion.Mi`", T, "{{ .Capabilities.KubeVersion.Mi¦ }}", &["Minor"]),
    case("completion", "name in `include`", T, "{{ include \"shop.¦\" . }}", &["shop.name", "shop.item"]),
    case(
        "completion",
        "dot in `range` over a list",
        T,
        "{{ range .Values.list }}{{ .¦ }}{{ end }}",
        &["name", "inner", "!Values"],
    ),
    case(
        "completion",
        "field in `range` over a list",
        T,
        "{{ range .Values.list }}{{ .na¦ }}{{ end }}",
        &["name"],
    ),
    case(
        "completion",
        "deep field in `range` over a list",
        T,
        "{{ range .Values.list }}{{ .inner.¦ }}{{ end }}",
        &["deep"],
    ),
    case(
        "completion",
        "dot in `range` over a nested list",
        T,
        "{{ range .Values.lists }}{{ range . }}{{ .¦ }}{{ end }}{{ end }}",
        &["cell"],
    ),
    case(
        "completion",
        "field in `range` over a nested list",
        T,
        "{{ range .Values.lists }}{{ range . }}{{ .ce¦ }}{{ end }}{{ end }}",
        &["cell"],
    ),
    case(
        "completion",
        "deep field in `range` over a nested list",
        T,
        "{{ range .Values.lists }}{{ range . }}{{ .cell.¦ }}{{ end }}{{ end }}",
        &["x"],
    ),
    case(
        "completion",
        "dot in `range` over a map",
        T,
        "{{ range .Values.map }}{{ .¦ }}{{ end }}",
        &["path", "tls"],
    ),
    case(
        "completion",
        "field in `range` over a map",
        T,
        "{{ range .Values.map }}{{ .pa¦ }}{{ end }}",
        &["path"],
    ),
    case(
        "completion",
        "deep field in `range` over a map",
        T,
        "{{ range .Values.map }}{{ .tls.¦ }}{{ end }}",
        &["secret"],
    ),
    case(
        "completion",
        "variable of a `range` over a list",
        T,
        "{{ range $i, $e := .Values.list }}{{ $e.¦ }}{{ end }}",
        &["name", "inner"],
    ),
    case(
        "completion",
        "deep field of a variable of a `range`",
        T,
        "{{ range $i, $e := .Values.list }}{{ $e.inner.¦ }}{{ end }}",
        &["deep"],
    ),
    case(
        "completion",
        "variable of a `range` over a map",
        T,
        "{{ range $k, $v := .Values.map }}{{ $v.¦ }}{{ end }}",
        &["path", "tls"],
    ),
    case(
        "completion",
        "dot beside variables of a `range`",
        T,
        "{{ range $k, $v := .Values.map }}{{ .tls.¦ }}{{ end }}",
        &["secret"],
    ),
    case(
        "completion",
        "variables inside of a `range`",
        T,
        "{{ range $k, $v := .Values.map }}{{ $¦ }}{{ end }}",
        &["$k", "$v", "$"],
    ),
    case(
        "with schemas",
        "fields of a container port",
        T,
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: {{ .Chart.Name }}\n        ports:\n        - name: http\n          ¦\n",
        &["containerPort", "protocol", "hostPort", "!name"],
    ),
    case(
        "with schemas",
        "fields inside of `if`",
        T,
        "apiVersion: v1\nkind: Service\nspec:\n  {{- if .Values.x }}\n  ¦\n  {{- end }}\n",
        &["type", "ports", "selector"],
    ),
];

/// What a hover shows.
const HOVER: [Case; 27] = [
    case("hover", "dot", T, "{{ range .Values.list }}{{ .¦ }}{{ end }}", &[".Values.list[*]"]),
    case("hover", "variable", T, "{{ $x := .Values.image }}{{ $¦x }}", &["$x", ".Values.image"]),
    case("hover", "function", T, "{{ toY¦aml . }}", &["toYaml", "YAML"]),
    case("hover", "`.Values`", T, "{{ .Val¦ues }}", &["values of the chart"]),
    case("hover", "empty list", T, "{{ .Values.emp¦ty }}", &["[]"]),
    case("hover", "number", T, "{{ .Values.repli¦cas }}", &["2", "values.yaml"]),
    case("hover", "list", T, "{{ .Values.li¦st }}", &["- name: one"]),
    case("hover", "`.Chart`", T, "{{ .Ch¦art }}", &["Chart.yaml"]),
    case("hover", "field of `.Chart`", T, "{{ .Chart.Na¦me }}", &["name: shop"]),
    case("hover", "`.Files`", T, "{{ .Fil¦es }}", &["files of the chart"]),
    case("hover", "method of `.Files`", T, "{{ .Files.G¦et \"a\" }}", &["Get"]),
    case(
        "hover",
        "name in `include`",
        T,
        "{{ include \"shop.na¦me\" . }}",
        &["The name.", "{{ .Chart.Name }}"],
    ),
    case("hover", "text", T, "one: tw¦o\n", &["!Values"]),
    case(
        "hover",
        "value of several files",
        T,
        "{{ .Values.image.ta¦g }}",
        &["values.yaml", "ci/more-values.yaml", "ci-tag"],
    ),
    case(
        "hover",
        "value that the parent sets",
        "shop/charts/db/templates/s.yaml",
        "{{ .Values.si¦ze }}",
        &["5Gi", "1Gi"],
    ),
    case(
        "hover",
        "value that a parent two levels up sets",
        "shop/charts/db/charts/deep/templates/d.yaml",
        "{{ .Values.le¦vel }}",
        &["from shop", "from db", "own"],
    ),
    case("hover", "global", "shop/charts/db/templates/s.yaml", "{{ .Values.global.zo¦ne }}", &["eu"]),
    case("hover", "float", T, "{{ .Values.ra¦te }}", &["0.5"]),
    case("hover", "item of a list", T, "{{ (index .Values.list 0).na¦me }}", &["one", "two"]),
    case(
        "values files",
        "hover: value of several files",
        VALUES,
        "image:\n  repository: nginx\n  ta¦g: \"1\"\n",
        &["ci-tag"],
    ),
    case(
        "values files",
        "hover: value of a subchart, in its parent",
        VALUES,
        "store:\n  si¦ze: 5Gi\n",
        &["5Gi", "1Gi"],
    ),
    case(
        "values files",
        "hover: value that a parent sets, in the subchart",
        "shop/charts/db/values.yaml",
        "si¦ze: 1Gi\n",
        &["5Gi", "1Gi"],
    ),
    case(
        "values files",
        "hover: value of a grandchild",
        VALUES,
        "store:\n  deep:\n    le¦vel: from shop\n",
        &["from shop", "from db", "own"],
    ),
    case("values files", "hover: global", VALUES, "global:\n  zo¦ne: eu\n", &["eu"]),
    case("values files", "hover: quoted key with a dot", VALUES, "\"a.b/¦c\": x\n", &["x"]),
    case("values files", "hover: at the colon", VALUES, "replicas¦: 2\n", &["replicas", "2"]),
    case(
        "with schemas",
        "hover: field of an object",
        T,
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  repli¦cas: {{ .Values.replicas }}\n",
        &["Number of desired pods"],
    ),
];

/// Where definitions are.
const DEFINITION: [Case; 32] = [
    case("definition", "variable", T, "{{ $x := 1 }}{{ $x¦ }}", &["t.yaml:1:4"]),
    case(
        "definition",
        "variable that is declared again",
        T,
        "{{ $x := 1 }}{{ $x := 2 }}{{ $x¦ }}",
        &["t.yaml:1:17"],
    ),
    case(
        "definition",
        "variable of a `range`",
        T,
        "{{ range $i, $e := .Values.list }}{{ $e¦ }}{{ end }}",
        &["t.yaml:1:14"],
    ),
    case("definition", "unfinished `$x.`", T, "{{ $x := .Values.image }}{{ $x¦. }}", &["t.yaml:1:4"]),
    case("definition", "value", T, "{{ .Values.repli¦cas }}", &["values.yaml:4:1"]),
    case(
        "definition",
        "nested value",
        T,
        "{{ .Values.image.ta¦g }}",
        &["values.yaml:3:3", "ci/more-values.yaml:2:3"],
    ),
    case(
        "definition",
        "field of an item of a list",
        T,
        "{{ range .Values.list }}{{ .na¦me }}{{ end }}",
        &["values.yaml:7:3", "values.yaml:10:3"],
    ),
    case(
        "definition",
        "dot of a `range`",
        T,
        "{{ range .Values.list }}{{ .¦ }}{{ end }}",
        &["values.yaml:7:1", "values.yaml:10:1"],
    ),
    case(
        "definition",
        "the word `Values`",
        T,
        "{{ .Val¦ues.image }}",
        &["shop/values.yaml:1:1", "ci/more-values.yaml:1:1"],
    ),
    case("definition", "name in `include`", T, "{{ include \"shop.na¦me\" . }}", &["_helpers.tpl:2:13"]),
    case("definition", "name in `template`", T, "{{ template \"shop.na¦me\" . }}", &["_helpers.tpl:2:13"]),
    case(
        "definition",
        "include of a chart in a folder",
        T,
        "{{ include \"db.na¦me\" . }}",
        &["db/templates/_h.tpl:1:12"],
    ),
    case(
        "definition",
        "include of a chart in an archive",
        T,
        "{{ include \"cache.na¦me\" . }}",
        &["cache-1.0.0.tgz!/templates/_h.tpl:1:12"],
    ),
    case(
        "definition",
        "`global` of a parent",
        "shop/charts/db/templates/s.yaml",
        "{{ .Values.global.zo¦ne }}",
        &["shop/values.yaml:31:3"],
    ),
    case("definition", "the word `global`", T, "{{ .Values.glo¦bal.zone }}", &["shop/values.yaml:30:1"]),
    case(
        "definition",
        "name of a subchart in a folder",
        T,
        "{{ .Values.sto¦re.size }}",
        &["shop/values.yaml:26:1", "db/values.yaml:1:1"],
    ),
    case(
        "definition",
        "key of a subchart in a folder",
        T,
        "{{ .Values.store.si¦ze }}",
        &["shop/values.yaml:27:3", "db/values.yaml:1:1"],
    ),
    case(
        "definition",
        "name of a subchart in an archive",
        T,
        "{{ .Values.ca¦che.ttl }}",
        &["cache-1.0.0.tgz!/values.yaml:1:1"],
    ),
    case(
        "definition",
        "key of a subchart in an archive",
        T,
        "{{ .Values.cache.tt¦l }}",
        &["cache-1.0.0.tgz!/values.yaml:1:1"],
    ),
    case(
        "definition",
        "key that a parent sets, from the subchart",
        "shop/charts/db/templates/s.yaml",
        "{{ .Values.si¦ze }}",
        &["shop/values.yaml:27:3", "db/values.yaml:1:1"],
    ),
    case("definition", "`.Chart`", T, "{{ .Cha¦rt }}", &["shop/Chart.yaml:1:1"]),
    case("definition", "`.Chart.Name`", T, "{{ .Chart.Na¦me }}", &["shop/Chart.yaml:2:1"]),
    case(
        "definition",
        "`.Chart.Name` of a subchart",
        "shop/charts/db/templates/s.yaml",
        "{{ .Chart.Na¦me }}",
        &["db/Chart.yaml:2:1"],
    ),
    case("definition", "nothing", T, "{{ .Values.no¦thing }}", &["=0"]),
    case(
        "values files",
        "definition: several files",
        VALUES,
        "image:\n  repository: nginx\n  ta¦g: \"1\"\n",
        &["values.yaml:3:3", "ci/more-values.yaml:2:3"],
    ),
    case(
        "values files",
        "definition: from parent to subchart",
        VALUES,
        "store:\n  si¦ze: 5Gi\n",
        &["db/values.yaml:1:1"],
    ),
    case(
        "values files",
        "definition: from subchart to parent",
        "shop/charts/db/values.yaml",
        "si¦ze: 1Gi\n",
        &["shop/values.yaml:27:3"],
    ),
    case(
        "values files",
        "definition: from parent to grandchild",
        VALUES,
        "store:\n  deep:\n    le¦vel: from shop\n",
        &["deep/values.yaml:1:1", "db/values.yaml:3:3"],
    ),
    case(
        "values files",
        "definition: from grandchild to both above",
        "shop/charts/db/charts/deep/values.yaml",
        "le¦vel: own\n",
        &["shop/values.yaml:29:5", "db/values.yaml:3:3"],
    ),
    case(
        "values files",
        "definition: global",
        "shop/charts/db/values.yaml",
        "global:\n  zo¦ne: x\n",
        &["shop/values.yaml:31:3"],
    ),
    case(
        "values files",
        "definition: quoted key with a dot",
        VALUES,
        "\"a.b/¦c\": x\n",
        &["values.yaml:1:1"],
    ),
    case("values files", "definition: at the colon", VALUES, "a: 1\nreplicas¦: 2\n", &["values.yaml:2:1"]),
];

/// All places where something is used.
const REFERENCES: [Case; 21] = [
    case(
        "references",
        "`Values`",
        T,
        "{{ .Val¦ues.image }}{{ .Values.list }}",
        &["t.yaml:1:5", "t.yaml:1:24"],
    ),
    case("references", "key", T, "{{ .Values.repli¦cas }}", &["t.yaml:1:12", "values.yaml:4:1", "a.yaml:3:"]),
    case(
        "references",
        "nested key",
        T,
        "{{ .Values.image.ta¦g }}",
        &["t.yaml:1:18", "a.yaml:4:", "values.yaml:3:3", "ci/more-values.yaml:2:3"],
    ),
    case("references", "variable", T, "{{ $x := 1 }}{{ $x¦ }}{{ $x }}", &["=3"]),
    case("references", "variable, from its declaration", T, "{{ $x¦ := 1 }}{{ $x }}", &["=2"]),
    case(
        "references",
        "variable of a scope",
        T,
        "{{ if 1 }}{{ $x := 1 }}{{ $x¦ }}{{ end }}{{ if 2 }}{{ $x := 2 }}{{ $x }}{{ end }}",
        &["=2"],
    ),
    case(
        "references",
        "variable that is hidden",
        T,
        "{{ $x := 1 }}{{ if 1 }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x¦ }}",
        &["=2"],
    ),
    case("references", "variable that is assigned", T, "{{ $x := 1 }}{{ $x = 2 }}{{ $x¦ }}", &["=3"]),
    case(
        "references",
        "variables of definitions",
        T,
        "{{ define \"q\" }}{{ $x := 1 }}{{ $x¦ }}{{ end }}{{ $x := 2 }}{{ $x }}",
        &["=2"],
    ),
    case(
        "references",
        "definition, from its name",
        "shop/templates/_helpers.tpl",
        "{{ define \"shop.na¦me\" }}{{ end }}",
        &["_helpers.tpl:1:12", "a.yaml:2:"],
    ),
    case(
        "references",
        "definition, from an include",
        T,
        "{{ include \"shop.na¦me\" . }}",
        &["t.yaml:1:13", "_helpers.tpl:2:13", "a.yaml:2:"],
    ),
    case(
        "references",
        "definition, from a template call",
        T,
        "{{ template \"shop.na¦me\" . }}",
        &["t.yaml:1:14", "_helpers.tpl:2:13", "a.yaml:2:"],
    ),
    case(
        "references",
        "through the context of a definition",
        T,
        "{{ include \"shop.item\" (dict \"item\" .Values.image) }}{{ .Values.image.repo¦sitory }}",
        &["_helpers.tpl:6:", "values.yaml:2:3"],
    ),
    case(
        "values files",
        "references: key",
        VALUES,
        "image:\n  repository: nginx\nrepli¦cas: 2\n",
        &["a.yaml:3:", "values.yaml:3:1"],
    ),
    case("values files", "references: map", VALUES, "ima¦ge:\n  repository: nginx\n", &["a.yaml:4:"]),
    case(
        "values files",
        "references: from parent to subchart",
        VALUES,
        "store:\n  si¦ze: 5Gi\n",
        &["db/templates/s.yaml:1:", "db/values.yaml:1:1"],
    ),
    case(
        "values files",
        "references: from subchart to parent",
        "shop/charts/db/values.yaml",
        "si¦ze: 1Gi\n",
        &["db/templates/s.yaml:1:", "shop/values.yaml:27:3"],
    ),
    case(
        "values files",
        "references: from grandchild",
        "shop/charts/db/charts/deep/values.yaml",
        "le¦vel: own\n",
        &["deep/templates/d.yaml:1:", "shop/values.yaml:29:5"],
    ),
    case("values files", "references: global", VALUES, "global:\n  zo¦ne: eu\n", &["db/templates/s.yaml:2:"]),
    case("values files", "references: quoted key with a dot", VALUES, "\"a.b/¦c\": x\n", &["a.yaml:5:"]),
    case("values files", "references: field of items", VALUES, "list:\n- na¦me: one\n", &["a.yaml:7:"]),
];

fn shop() -> Workspace {
    let files: [(&str, &str); 20] = [
        (
            "shop/Chart.yaml",
            "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- name: db\n  alias: store\n  version: 1.x\n- name: cache\n  version: 1.x\n",
        ),
        (
            "shop/values.yaml",
            "image:\n  repository: nginx\n  tag: \"1\"\nreplicas: 2\nrate: 0.5\nlist:\n- name: one\n  inner:\n    deep: 1\n- name: two\nlists:\n- - cell:\n      x: 1\nmap:\n  a:\n    path: /\n    tls:\n      secret: s\nempty: []\n\"a.b/c\": x\n# here\nspare: 1\nspare2: 1\nspare3: 1\n# The database.\nstore:\n  size: 5Gi\n  deep:\n    level: from shop\nglobal:\n  zone: eu\n",
        ),
        ("shop/ci/more-values.yaml", "image:\n  tag: ci-tag\n"),
        (
            "shop/templates/_helpers.tpl",
            "{{/* The name. */}}\n{{- define \"shop.name\" -}}\n{{ .Chart.Name }}\n{{- end }}\n{{- define \"shop.item\" }}\n{{ .item.repository }}\n{{- end }}\n",
        ),
        (
            "shop/templates/a.yaml",
            "kind: ConfigMap\nname: {{ include \"shop.name\" . }}\nreplicas: {{ .Values.replicas }}\ntag: {{ .Values.image.tag }}\nquoted: {{ index .Values \"a.b/c\" }}\n{{- range .Values.list }}\n{{ .name }}\n{{- end }}\n",
        ),
        (
            "shop/charts/db/Chart.yaml",
            "apiVersion: v2\nname: db\nversion: 1.0.0\ndependencies:\n- name: deep\n  version: 1.x\n",
        ),
        ("shop/charts/db/values.yaml", "size: 1Gi\ndeep:\n  level: from db\n"),
        ("shop/charts/db/templates/_h.tpl", "{{ define \"db.name\" }}db{{ end }}\n"),
        ("shop/charts/db/templates/s.yaml", "size: {{ .Values.size }}\nzone: {{ .Values.global.zone }}\n"),
        ("shop/charts/db/charts/deep/Chart.yaml", "apiVersion: v2\nname: deep\nversion: 1.0.0\n"),
        ("shop/charts/db/charts/deep/values.yaml", "level: own\n"),
        ("shop/charts/db/charts/deep/templates/d.yaml", "level: {{ .Values.level }}\n"),
        ("shop/files/a.txt", "a"),
        ("cache/Chart.yaml", "apiVersion: v2\nname: cache\nversion: 1.0.0\n"),
        ("cache/values.yaml", "ttl: 60\n"),
        ("cache/templates/_h.tpl", "{{ define \"cache.name\" }}cache{{ end }}\n"),
        ("cache/templates/c.yaml", "ttl: {{ .Values.ttl }}\n"),
        ("shop/.helmignore", "*.bak\n"),
        ("shop/LICENSE", "none\n"),
        ("shop/README.md", "# shop\n"),
    ];
    let workspace = Workspace::new(&files);
    let folder = workspace.path("cache");
    let chart = pintle::chart::load(&folder, &mut Vec::new()).expect("a chart");
    let archive =
        pintle::chart::package::archive(&chart, pintle::chart::package::Times { all: Some(0), fallback: 0 });
    let target = workspace.path("shop/charts/cache-1.0.0.tgz");
    std::fs::write(target, archive.expect("an archive")).expect("can be written");
    std::fs::remove_dir_all(folder).expect("can be removed");
    workspace
}

/// Asks a case, and returns what is missing or too much.
fn ask(case: &Case, method: &str) -> Option<String> {
    let mut workspace = shop();
    let cursor = workspace.open(case.file, case.text);
    let more = json!({"context": {"includeDeclaration": true}});
    let answer = workspace.ask_with(method, &cursor, more);
    let places = workspace.places(&answer);
    let labels = |answer: &Value| -> Vec<String> {
        let items = answer["items"].as_array().into_iter().flatten();
        items.filter_map(|item| item["label"].as_str().map(str::to_owned)).collect()
    };
    let has = |part: &str| match method {
        "textDocument/completion" => labels(&answer).iter().any(|label| label == part),
        "textDocument/hover" => answer["contents"]["value"].as_str().is_some_and(|text| text.contains(part)),
        _ => places.iter().any(|place| place.contains(part)),
    };
    let wrong = case.wanted.iter().find(|part| match (part.strip_prefix('!'), part.strip_prefix('=')) {
        (Some(part), _) => has(part),
        (_, Some(count)) => places.len().to_string() != count,
        _ => !has(part),
    })?;
    let shown = match method {
        "textDocument/completion" => labels(&answer).join(" "),
        "textDocument/hover" => answer["contents"]["value"].to_string(),
        _ => places.join(" "),
    };
    Some(format!("{}, {}: {wrong} in {shown}", case.group, case.what))
}

#[track_caller]
fn all(cases: &[Case], method: &str) {
    let wrong: Vec<String> = cases.iter().filter_map(|case| ask(case, method)).collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn everything_that_can_be_typed_is_offered() {
    all(&COMPLETION, "textDocument/completion");
}

#[test]
fn hovers_show_what_is_known() {
    all(&HOVER, "textDocument/hover");
}

#[test]
fn definitions_are_found_in_all_files_and_charts() {
    all(&DEFINITION, "textDocument/definition");
}

#[test]
fn references_are_complete() {
    all(&REFERENCES, "textDocument/references");
}

/// Probes at places where names are known by following values only: one line of the list each.
const PROBES: [(&str, &str, &str); 35] = [
    ("field of a value in parentheses", "{{ (.Values.image).¦ }}", "tag"),
    ("variable with a default", "{{ $x := .Values.image | default dict }}{{ $x.¦ }}", "tag"),
    ("`with` with a default", "{{ with .Values.image | default dict }}{{ .¦ }}{{ end }}", "tag"),
    ("`with or`", "{{ with or .Values.nope .Values.image }}{{ .¦ }}{{ end }}", "tag"),
    ("`with $i :=`, its variable", "{{ with $i := .Values.image }}{{ $i.¦ }}{{ end }}", "tag"),
    ("`with $i :=`, the dot", "{{ with $i := .Values.image }}{{ .¦ }}{{ end }}", "tag"),
    ("variable that is assigned", "{{ $x := dict }}{{ $x = .Values.image }}{{ $x.¦ }}", "tag"),
    ("key in `index`", "{{ index .Values \"¦\" }}", "image"),
    ("nested key in `index`", "{{ index .Values \"image\" \"¦\" }}", "tag"),
    ("key in `get`", "{{ get .Values.image \"¦\" }}", "tag"),
    ("key in `dig`", "{{ dig \"image\" \"¦\" \"\" .Values }}", "tag"),
    ("key in `hasKey`", "{{ hasKey .Values.image \"¦\" }}", "tag"),
    ("field of an item", "{{ (index .Values.list 0).¦ }}", "name"),
    ("field of the first item", "{{ (first .Values.list).¦ }}", "name"),
    (
        "context of a definition, by `dict`",
        "{{ include \"p\" (dict \"a\" .Values.image) }}{{ define \"p\" }}{{ .¦ }}{{ end }}",
        "a",
    ),
    (
        "value in such a context",
        "{{ include \"p\" (dict \"a\" .Values.image) }}{{ define \"p\" }}{{ .a.¦ }}{{ end }}",
        "tag",
    ),
    (
        "context of a definition, by `list`",
        "{{ include \"p\" (list $ .Values.image) }}{{ define \"p\" }}{{ (index . 1).¦ }}{{ end }}",
        "tag",
    ),
    (
        "root in such a context",
        "{{ include \"p\" (list $ .Values.image) }}{{ define \"p\" }}{{ (index . 0).¦ }}{{ end }}",
        "Values",
    ),
    (
        "context of a definition, by a value",
        "{{ include \"p\" .Values.image }}{{ define \"p\" }}{{ .¦ }}{{ end }}",
        "tag",
    ),
    ("defaults of a subchart under its alias", "{{ .Values.store.¦ }}", "deep"),
    ("values of a subchart in an archive", "{{ .Values.cache.¦ }}", "ttl"),
    ("`.Subcharts`", "{{ .Subcharts.¦ }}", "store"),
    ("values below `.Subcharts`", "{{ .Subcharts.store.Values.¦ }}", "size"),
    ("name in `.Files.Get`", "{{ .Files.Get \"¦\" }}", "files/a.txt"),
    ("version in `APIVersions.Has`", "{{ .Capabilities.APIVersions.Has \"¦\" }}", "apps/v1"),
    ("values of `ci`", "{{ .Values.image.¦ }}", "digest"),
    ("name in `template`", "{{ template \"¦\" . }}", "shop.name"),
    ("dot in `range … else`", "{{ range .Values.list }}{{ else }}{{ .¦ }}{{ end }}", "Values"),
    ("`end`", "{{ if .a }}{{ e¦", "end"),
    ("`else`", "{{ if .a }}{{ e¦", "else"),
    ("text of `tpl`", "{{ tpl \"{{ .Values.image.¦ }}\" . }}", "tag"),
    ("nothing in comments", "{{/* .Values.¦ */}}", ""),
    ("nothing in strings", "{{ quote \".Values.¦\" }}", ""),
    ("nothing in comments of YAML", "# .Values.¦\n", ""),
    ("`toYaml` and back", "{{ $x := .Values.image | toYaml | fromYaml }}{{ $x.¦ }}", "tag"),
];

#[test]
fn all_probes_are_answered() {
    let mut wrong = Vec::new();
    for (what, text, wanted) in PROBES {
        let mut workspace = shop();
        std::fs::write(workspace.path("shop/ci/more-values.yaml"), "image: {tag: c, digest: d}\n")
            .expect("a file");
        let labels = workspace.complete(T, text);
        let right =
            if wanted.is_empty() { labels.is_empty() } else { labels.iter().any(|label| label == wanted) };
        if !right {
            wrong.push(format!("{what}: no `{wanted}` in {labels:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_list_of_cases_is_the_one_in_the_documentation() {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for case in COMPLETION.iter().chain(&HOVER).chain(&DEFINITION).chain(&REFERENCES) {
        match groups.iter_mut().find(|(group, _)| *group == case.group) {
            Some((_, cases)) => cases.push(case.what),
            None => groups.push((case.group, vec![case.what])),
        }
    }
    groups.push(("probes", PROBES.iter().map(|(what, ..)| *what).collect()));
    let mut list = String::new();
    for (group, cases) in &groups {
        list.push_str(&format!("\n## {group} ({})\n\n", cases.len()));
        cases.iter().for_each(|what| list.push_str(&format!("- {what}\n")));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contributing/editor-cases.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let known = page.find("\n## ").map_or("", |at| &page[at..]);
    if known != list {
        let written = std::env::temp_dir().join("editor-cases.md");
        let head = &page[..page.find("\n## ").unwrap_or(page.len())];
        std::fs::write(&written, format!("{head}{list}")).expect("can be written");
        panic!("docs/contributing/editor-cases.md is not the list of cases; {} is", written.display());
    }
}
