//! What is offered while typing.

use super::support::{Workspace, web};

/// Asserts that all of some labels are offered, and that others are not.
#[track_caller]
fn offers(text: &str, wanted: &[&str], unwanted: &[&str]) {
    let mut workspace = Workspace::new(&web());
    let labels = workspace.complete("web/templates/b.yaml", text);
    for label in wanted {
        assert!(labels.iter().any(|known| known == label), "{text}: no {label} in {labels:?}");
    }
    for label in unwanted {
        assert!(labels.iter().all(|known| known != label), "{text}: {label} in {labels:?}");
    }
}

#[test]
fn values_of_all_files_schemas_and_subcharts() {
    offers("{{ .Values.¦ }}", &["image", "replicas", "ports", "store", "global", "nested"], &["repository"]);
    offers("{{ .Values.re¦ }}", &["replicas"], &[]);
    offers("{{ .Values.image.¦ }}", &["repository", "tag", "digest", "pullPolicy"], &["image"]);
    offers("{{ .Values.store.¦ }}", &["size", "auth", "enabled"], &[]);
    offers("{{ .Values.store.auth.¦ }}", &["user"], &[]);
    offers("{{ .Values.global.¦ }}", &["zone"], &[]);
    offers("a: {{ .Values.\nb: {{ .Values.image.¦", &["tag"], &[]);
    offers("{{ .Values.¦image.tag }}", &["image", "ports"], &[]);
    offers("é𝄞: {{ .Values.image.¦ }}", &["tag"], &[]);
}

#[test]
fn the_objects_of_helm() {
    offers(
        "{{ .¦ }}",
        &["Values", "Release", "Chart", "Capabilities", "Files", "Template", "Subcharts"],
        &["quote"],
    );
    offers("{{ .Chart.N¦ }}", &["Name"], &[]);
    offers("{{ .Release.¦ }}", &["Name", "Namespace", "IsInstall"], &[]);
    offers("{{ .Capabilities.KubeVersion.Mi¦ }}", &["Minor"], &[]);
    offers("{{ .Subcharts.¦ }}", &["store", "common"], &[]);
    offers("{{ .Subcharts.store.Values.¦ }}", &["size"], &[]);
    offers("{{ .Files.Get \"¦\" }}", &["files/conf.txt"], &["templates/a.yaml"]);
    offers("{{ .Capabilities.APIVersions.Has \"¦\" }}", &["apps/v1", "apps/v1/Deployment", "v1"], &[]);
    offers("{{ $.¦ }}", &["Values"], &[]);
}

#[test]
fn the_dot_in_blocks() {
    offers("{{ with .Values.image }}{{ .¦ }}{{ end }}", &["repository", "tag"], &["Values"]);
    offers("{{ with .Values.image }}{{ $.¦ }}{{ end }}", &["Values"], &[]);
    offers("{{ with .Values.image }}{{ else }}{{ .¦ }}{{ end }}", &["Values"], &["tag"]);
    offers("{{ with $i := .Values.image }}{{ $i.¦ }}{{ end }}", &["tag"], &[]);
    offers("{{ with .Values.nope | default .Values.image }}{{ .¦ }}{{ end }}", &["tag"], &[]);
    offers("{{ with or .Values.nope .Values.image }}{{ .¦ }}{{ end }}", &["tag"], &[]);
    offers("{{ range .Values.ports }}{{ .¦ }}{{ end }}", &["name", "port"], &[]);
    offers("{{ range .Values.ports }}{{ else }}{{ .¦ }}{{ end }}", &["Values"], &["port"]);
    offers("{{ range $k, $v := .Values.hosts }}{{ $v.¦ }}{{ end }}", &["path", "tls"], &[]);
    offers("{{ range $k, $v := .Values.hosts }}{{ .tls.¦ }}{{ end }}", &["secret"], &[]);
    offers("{{ range .Values.hosts }}{{ if .path }}{{ .¦", &["path", "tls"], &[]);
}

#[test]
fn variables_and_functions_keep_what_they_are() {
    offers("{{ $x := .Values.image }}{{ $x.¦ }}", &["tag"], &[]);
    offers(
        "{{ $x := .Values.nope | default dict }}{{ $y := .Values.image }}{{ $¦ }}",
        &["$x", "$y", "$"],
        &[],
    );
    offers("{{ $x := .Values.extra | default .Values.image }}{{ $x.¦ }}", &["tag"], &[]);
    offers("{{ $x := .Values.extra }}{{ $x = .Values.image }}{{ $x.¦ }}", &["tag"], &[]);
    offers("{{ (.Values.image).¦ }}", &["tag"], &[]);
    offers("{{ (index .Values.ports 0).¦ }}", &["port"], &[]);
    offers("{{ (first .Values.ports).¦ }}", &["port"], &[]);
    offers("{{ $p := last .Values.ports }}{{ $p.¦ }}", &["port"], &[]);
    offers("{{ index .Values.image \"¦\" }}", &["tag"], &[]);
    offers("{{ get .Values.image \"t¦", &["tag"], &[]);
    offers("{{ dig \"image\" \"¦\" \"\" .Values }}", &["tag"], &[]);
    offers("{{ if hasKey .Values \"¦\" }}", &["image"], &[]);
    offers("{{ $d := dict \"a\" .Values.image }}{{ $d.a.¦ }}", &["tag"], &[]);
    offers("{{ $d := dict }}{{ $_ := set $d \"b\" .Values.image }}{{ $d.b.¦ }}", &["tag"], &[]);
    offers("{{ $l := list .Values.image }}{{ range $l }}{{ .¦ }}{{ end }}", &["tag"], &[]);
    offers("{{ $m := merge .Values.extra .Values.image }}{{ $m.¦ }}", &["tag"], &[]);
    offers("{{ $m := .Values.image | deepCopy }}{{ $m.¦ }}", &["tag"], &[]);
    offers("{{ $m := ternary .Values.image .Values.extra true }}{{ $m.¦ }}", &["tag"], &[]);
    offers("{{ $m := .Values.image | toYaml | fromYaml }}{{ $m.¦ }}", &["tag"], &[]);
    offers("{{ if and (.Values.¦) }}", &["image"], &[]);
    offers("{{ range list \"image\" }}{{ (index $.Values .).¦ }}{{ end }}", &["tag"], &[]);
}

#[test]
fn the_context_of_a_definition_is_what_it_is_called_with() {
    let call = "{{ include \"x\" (dict \"one\" .Values.image \"all\" $) }}{{ include \"x\" (dict \"two\" .Values.ports) }}";
    offers(
        &format!("{call}{{{{ define \"x\" }}}}{{{{ .¦ }}}}{{{{ end }}}}"),
        &["one", "two", "all"],
        &["Values"],
    );
    offers(&format!("{call}{{{{ define \"x\" }}}}{{{{ .one.¦ }}}}{{{{ end }}}}"), &["tag"], &[]);
    offers(&format!("{call}{{{{ define \"x\" }}}}{{{{ .all.Values.¦ }}}}{{{{ end }}}}"), &["image"], &[]);
    offers("{{ define \"y\" }}{{ .Values.¦ }}{{ end }}", &["image"], &[]);
    let passed = "{{ include \"p\" (list . .Values.image) }}{{ define \"p\" }}{{ $i := index . 1 }}{{ $i.¦ }}{{ end }}";
    offers(passed, &["tag"], &[]);
    offers("{{ template \"q\" .Values.image }}{{ define \"q\" }}{{ .¦ }}{{ end }}", &["tag"], &[]);
    offers("{{ block \"r\" .Values.image }}{{ .¦ }}{{ end }}", &["tag"], &[]);
    offers(
        "{{ include \"s\" . }}{{ define \"s\" }}{{ include \"t\" .Values.image }}{{ end }}{{ define \"t\" }}{{ .¦ }}{{ end }}",
        &["tag"],
        &[],
    );
}

#[test]
fn words_where_they_may_be() {
    offers("{{ ¦ }}", &["if", "range", "quote", "include", "printf", ".Values"], &["end"]);
    offers("{{ if .a }}{{ ¦ }}", &["end", "else", "else if"], &["break"]);
    offers("{{ range .a }}{{ e¦ }}", &["end", "else", "break", "continue"], &["else if"]);
    offers("{{ toY¦ }}", &["toYaml"], &[]);
    offers("{{ .Values.image | ¦ }}", &["quote", "toYaml"], &["if"]);
    offers("{{ include \"¦\" . }}", &["web.name", "web.port", "common.labels"], &["quote"]);
    offers("{{ template \"¦", &["web.name"], &[]);
    offers("{{ define \"q\" }}{{ end }}{{ include \"q¦\" . }}", &["q"], &[]);
}

#[test]
fn nothing_in_text_comments_and_strings() {
    for text in ["{{/* .Values.¦ */}}", "{{ quote \".Values.¦\" }}", "{{ \"¦\" }}", "{{ 1¦ }}"] {
        let mut workspace = Workspace::new(&web());
        let labels = workspace.complete("web/templates/b.yaml", text);
        assert!(labels.is_empty(), "{text}: {labels:?}");
    }
}

#[test]
fn keys_in_values_files_chart_yaml_and_suites() {
    let mut workspace = Workspace::new(&web());
    let labels = workspace.complete("web/values.yaml", "image:\n  repository: x\n  ¦\nstore:\n  size: 1\n");
    assert!(labels.contains(&"pullPolicy".to_owned()) && labels.contains(&"digest".to_owned()), "{labels:?}");
    assert!(!labels.contains(&"repository".to_owned()), "{labels:?}");
    let labels = workspace.complete("web/values.yaml", "image:\n  pullPolicy: ¦\n");
    assert_eq!(labels, ["\"Always\"", "\"Never\""]);
    let labels = workspace.complete("web/values.yaml", "store:\n  ¦\n");
    assert!(labels.contains(&"auth".to_owned()), "{labels:?}");
    let labels = workspace.complete("web/Chart.yaml", "name: web\ndependencies:\n- name: db\n  al¦\n");
    assert!(labels.contains(&"alias".to_owned()) && !labels.contains(&"appVersion".to_owned()), "{labels:?}");
    let labels = workspace.complete("web/Chart.yaml", "name: web\ndependencies:\n- name: ¦\n");
    assert!(labels.contains(&"db".to_owned()) && labels.contains(&"common".to_owned()), "{labels:?}");
    let chart = "name: web\ndependencies:\n- name: db\n  alias: store\n  condition: ¦\n";
    let labels = workspace.complete("web/Chart.yaml", chart);
    assert!(labels.contains(&"store.enabled".to_owned()), "{labels:?}");
    let suite = "suite: a\ntests:\n- it: works\n  set:\n    image:\n      ¦\n";
    let labels = workspace.complete("web/tests/a_test.yaml", suite);
    assert!(labels.contains(&"repository".to_owned()) && !labels.contains(&"store".to_owned()), "{labels:?}");
}

#[test]
fn fields_of_kubernetes_objects_between_actions() {
    let service = "apiVersion: v1\nkind: Service\nspec:\n  {{- if .Values.x }}\n  type: ClusterIP\n  {{- else }}\n  ports:\n  {{- range .Values.ports }}\n  - name: {{ .name }}\n    ¦\n  {{- end }}\n  {{- end }}\n";
    offers(service, &["port", "targetPort", "protocol"], &["name", "spec"]);
    offers(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include \"web.name\" . }}\nspec:\n  template:\n    spec:\n      cont¦\n",
        &["containers", "volumes"],
        &["template"],
    );
    offers(
        "apiVersion: v1\nkind: Pod\n---\nkind: ConfigMap\napiVersion: {{ .Values.v }}\n¦\n",
        &["data", "binaryData"],
        &["spec", "kind"],
    );
    offers("apiVersion: v1\nkind: Pod\nspec:\n  hostNetwork: ¦\n", &["true", "false"], &[]);
    offers("¦", &["apiVersion", "kind"], &[]);
    offers("data: {{ .x }}\n# ¦\n", &[], &["apiVersion"]);
}
