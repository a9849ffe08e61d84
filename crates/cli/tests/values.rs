//! `values`: what templates see, where it comes from, and what it ends up in.

use crate::support::TestEnv;

/// A chart with a subchart: globals, an override by the parent, an import, an included definition.
fn chart() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- name: db\n  version: 1.0.0\n  import-values: [data]\n",
    );
    env.write(
        "web/values.yaml",
        "image:\n  name: web\n  tag: '1'\nenabled: true\ndb:\n  size: 2\nglobal:\n  zone: a\n",
    );
    env.write(
        "web/templates/_helpers.tpl",
        "{{ define \"web.image\" -}}\nimage: {{ .Values.image.name }}:{{ .Values.image.tag }}\n{{- end }}\n",
    );
    env.write(
        "web/templates/config.yaml",
        "{{- $port := .Values.port }}\n{{- if .Values.enabled }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  {{- include \"web.image\" . | nindent 2 }}\n  port: {{ $port | quote }}\n{{- end }}\n",
    );
    env.write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n");
    env.write("web/charts/db/values.yaml", "size: 1\nexports:\n  data:\n    port: 5432\n");
    env.write(
        "web/charts/db/templates/c.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\ndata:\n  size: \"{{ .Values.size }}\"\n  zone: {{ .Values.global.zone }}\n",
    );
    env.write("prod.yaml", "# production\nimage:\n  tag: '2'\n");
    env
}

#[test]
fn a_value_has_its_source_what_it_overrides_and_its_readers() {
    let env = chart();
    let shown = env.pintle("values web --explain image.tag -f prod.yaml --set-string image.tag=3");
    let wanted = "exit 0\n--- stdout\nimage.tag = \"3\"\n  set by      --set-string image.tag=3\n  overrides   prod.yaml:3, given with -f: \"2\"\n              web/values.yaml:3: \"1\"\n  read by     web/templates/_helpers.tpl:2\n";
    assert_eq!(shown, wanted);
    let shown = env.pintle("values web --explain db.size");
    let wanted = "exit 0\n--- stdout\ndb.size = 2\n  set by      web/values.yaml:6, for its subchart\n  overrides   web/charts/db/values.yaml:1, of the subchart: 1\n  read by     web/charts/db/templates/c.yaml:6\n";
    assert_eq!(shown, wanted);
    let all = env.pintle("values web --explain");
    for part in [
        "web/values.yaml:8, as global global.zone",
        "web/charts/db/values.yaml:4, of the subchart, imported from db (exports.data.port)",
    ] {
        assert!(all.contains(part), "no {part} in {all}");
    }
    let json = env.pintle("values web --explain image.tag -f prod.yaml -o json");
    for part in ["\"layer\": \"values-file\"", "\"line\": 3", "\"template\": \"web/templates/_helpers.tpl\""]
    {
        assert!(json.contains(part), "no {part} in {json}");
    }
}

#[test]
fn a_rendered_line_is_traced_to_templates_values_and_conditions() {
    let env = chart();
    let wanted = "exit 0\n--- stdout\nweb/templates/config.yaml:8: image: web:2\n  written by  web/templates/config.yaml:8\n              web/templates/_helpers.tpl:2\n  values      image.name = \"web\" (web/values.yaml:2)\n              image.tag = \"2\" (prod.yaml:3, given with -f)\n  inside      web/templates/config.yaml:2: enabled = true (web/values.yaml:4)\n";
    assert_eq!(env.pintle("values web --rendered templates/config.yaml:8 -f prod.yaml"), wanted);
    assert_eq!(env.pintle("values web --rendered ConfigMap/release-name:data.image -f prod.yaml"), wanted);
    // Variables are followed to where they were set.
    let port = env.pintle("values web --release x --rendered ConfigMap/x:data.port -o json");
    assert!(port.contains("\"path\": \"port\""), "{port}");
    let name = env.pintle("values web --release x --rendered ConfigMap/x:metadata.name");
    assert!(name.contains("fields      .Release.Name\n"), "{name}");
    for (selector, text) in [
        ("templates/config.yaml:99", "is not part of an object; it has 10 lines"),
        ("templates/none.yaml:1", "the chart has no template `templates/none.yaml`"),
        ("ConfigMap/none:data", "renders no ConfigMap named none"),
        ("ConfigMap/db:data.none", "has no field data.none"),
        ("nothing", "it may be FILE:LINE or KIND/NAME:PATH"),
    ] {
        let shown = env.pintle(&format!("values web --rendered {selector}"));
        assert!(!shown.starts_with("exit 0") && shown.contains(text), "{selector}: {shown}");
    }
}

#[test]
fn values_are_shown_without_sources_too_and_those_of_releases() {
    let env = chart();
    assert_eq!(env.pintle("values web db.size"), "exit 0\n--- stdout\n2\n");
    assert_eq!(
        env.pintle("values web image -o json"),
        "exit 0\n--- stdout\n{\n  \"name\": \"web\",\n  \"tag\": \"1\"\n}\n"
    );
    let missing = env.pintle("values web imag");
    assert!(missing.contains("has no value imag; did you mean image?"), "{missing}");
    let rendered_for = env.pintle("values web enabled --kube-version 1.30.0 --api-versions a/v1");
    assert_eq!(rendered_for, "exit 0\n--- stdout\ntrue\n");
    let there = [("PINTLE_CLUSTER", "embedded:box.db")];
    let run = |line: &str| env.called("pintle", line, &there);
    assert!(run("install rel web --set image.tag=7").starts_with("exit 0\n"));
    let shown = run("values rel --explain image.tag --revision 1");
    let wanted = "exit 0\n--- stdout\nimage.tag = \"7\"\n";
    assert!(shown.starts_with(wanted) || shown.contains("image.tag = 7\n"), "{shown}");
    assert!(shown.contains("set by      the values that release rel was installed with"), "{shown}");
    assert!(shown.contains("overrides   web/values.yaml: \"1\""), "{shown}");
}
