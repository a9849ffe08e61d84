//! Overrides of `irr` used by the real Helm, and `irr` as its plugin

use crate::support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::TestEnv;

const PINTLE: &str = env!("CARGO_BIN_EXE_pintle");
const VERSIONS: [&str; 2] = ["4.3.1", "3.22.0"];
const FLAGS: &str = "-t hub.corp:5000 -s docker.io,quay.io";

/// The real Helm in one of its versions, where `cargo xtask` has built it.
fn helm(version: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let helm = cache.join("pintle").join(format!("helm-v{version}/helm"));
    helm.is_file().then_some(helm)
}

/// Runs the real Helm with `irr` as its only plugin, and returns its output.
fn run(helm: &Path, env: &TestEnv, line: &str) -> String {
    let plugins = env.path().join(".plugins/irr");
    let programs = env.path().join(".programs");
    if !plugins.exists() {
        std::fs::create_dir_all(&plugins).expect("folders can be made");
        std::fs::create_dir_all(&programs).expect("folders can be made");
        let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/irr/plugin.yaml");
        std::fs::copy(plugin, plugins.join("plugin.yaml")).expect("the plugin is there");
        std::os::unix::fs::symlink(PINTLE, programs.join("pintle")).expect("links can be made");
    }
    let output = Command::new(helm)
        .args(line.split(' '))
        .current_dir(env.path())
        .env_clear()
        .env("HOME", env.path())
        .env("PATH", &programs)
        .env("HELM_PLUGINS", env.path().join(".plugins"))
        .output()
        .expect("Helm can be run");
    assert!(output.status.success(), "helm {line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A chart with images in many forms: a map, a string, a list, an aliased subchart, a template in values, YAML in a
/// string, and one that is not relocated.
fn shapes() -> TestEnv {
    let env = TestEnv::new();
    let values = "\
image: {registry: docker.io, repository: team/api, tag: v2}
plain: {repository: nginx, tag: ''}
job: {image: 'quay.io/team/job:1'}
own: {image: 'reg.internal/own:1'}
sidecars:
- {name: log, image: 'fluent/fluent-bit:3'}
- {name: own, image: 'reg.internal/own:2'}
name: quay.io/team/late
late: '{{ .Values.name }}:1'
extra: |
  - name: extra
    image: quay.io/team/extra:1
";
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: job, image: \"{{ .Values.job.image }}\"}
  containers:
  - name: api
    image: \"{{ .Values.image.registry }}/{{ .Values.image.repository }}:{{ .Values.image.tag }}\"
  - name: plain
    image: {{ .Values.plain.repository }}:{{ .Values.plain.tag | default .Chart.AppVersion }}
  - {name: own, image: {{ .Values.own.image }}}
  - {name: late, image: {{ tpl .Values.late . }}}
  {{- toYaml .Values.sidecars | nindent 2 }}
  {{- .Values.extra | nindent 2 }}
";
    let child = "apiVersion: v1\nkind: Pod\nmetadata: {name: db}\nspec:\n  containers:\n  - image: {{ .Values.image }}\n";
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: '4.1'\n\
             dependencies: [{name: db, version: '*', alias: store}]\n",
    )
    .write("web/values.yaml", values)
    .write("web/templates/pod.yaml", pod)
    .write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
    .write("web/charts/db/values.yaml", "image: library/postgres:17\n")
    .write("web/charts/db/templates/pod.yaml", child);
    env
}

/// The lines that differ between two texts of equally many lines.
fn differences(before: &str, after: &str) -> Vec<(String, String)> {
    assert_eq!(before.lines().count(), after.lines().count(), "{after}");
    let pairs = before.lines().zip(after.lines()).filter(|(before, after)| before != after);
    pairs.map(|(before, after)| (before.trim().to_owned(), after.trim().to_owned())).collect()
}

#[test]
fn the_real_helm_renders_the_images_where_overrides_point() {
    let env = shapes();
    let made = env.called("irr", &format!("override web {FLAGS} -o over.yaml --strict"), &[]);
    assert!(made.starts_with("exit 0"), "{made}");
    for helm in VERSIONS.into_iter().filter_map(helm) {
        let before = run(&helm, &env, "template web");
        let after = run(&helm, &env, "template web -f over.yaml");
        let expected = [
            ("- image: library/postgres:17", "- image: hub.corp:5000/dockerio/library/postgres:17"),
            (
                "- {name: job, image: \"quay.io/team/job:1\"}",
                "- {name: job, image: \"hub.corp:5000/quayio/team/job:1\"}",
            ),
            ("image: \"docker.io/team/api:v2\"", "image: \"hub.corp:5000/dockerio/team/api:v2\""),
            ("image: nginx:4.1", "image: hub.corp:5000/dockerio/library/nginx:4.1"),
            (
                "- {name: late, image: quay.io/team/late:1}",
                "- {name: late, image: hub.corp:5000/quayio/team/late:1}",
            ),
            ("- image: fluent/fluent-bit:3", "- image: hub.corp:5000/dockerio/fluent/fluent-bit:3"),
            ("image: quay.io/team/extra:1", "image: hub.corp:5000/quayio/team/extra:1"),
        ];
        let expected = expected.map(|(before, after)| (before.to_owned(), after.to_owned()));
        assert_eq!(differences(&before, &after), expected, "{}", helm.display());
    }
}

#[test]
fn the_examples_are_moved_with_the_real_helm() {
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/charts");
    for name in ["greeter", "web"] {
        let env = TestEnv::new();
        let chart = charts.join(name).canonicalize().unwrap();
        let chart = chart.display();
        let made = env.called("irr", &format!("override {chart} {FLAGS} -o over.yaml"), &[]);
        assert!(made.starts_with("exit 0"), "{made}");
        for helm in VERSIONS.into_iter().filter_map(helm) {
            let before = run(&helm, &env, &format!("template {chart} --kube-version 1.30.0"));
            let after = run(&helm, &env, &format!("template {chart} --kube-version 1.30.0 -f over.yaml"));
            let differences = differences(&before, &after);
            assert!(!differences.is_empty(), "{name}");
            for (before, after) in differences {
                assert!(
                    after.contains("image: ") && after.contains("hub.corp:5000/dockerio/"),
                    "{before} {after}"
                );
            }
        }
    }
}

#[test]
fn the_real_helm_has_it_as_a_plugin() {
    let env = shapes();
    let line = format!("override web {FLAGS}");
    let direct = env.called("irr", &line, &[]);
    for helm in VERSIONS.into_iter().filter_map(helm) {
        let printed = run(&helm, &env, &format!("irr override ./web {FLAGS}"));
        assert!(printed.starts_with("extra: |\n"), "{printed}");
        assert!(direct.contains(&printed), "{direct}");
        let help = run(&helm, &env, "irr inspect --help");
        assert!(help.contains("CHART|RELEASE"), "{help}");
    }
}
