//! Deterministic test data in the shape of real charts.

use std::fmt::Write as _;

use anyhow::Result;
use flate2::{Compression, write::GzEncoder};
use pintle_chart::File;

/// A manifest of Jobs, each a hook of two events.
pub(crate) fn hooks_text() -> String {
    let job = |index: usize| {
        format!(
            "---\n# Source: web/templates/job-{index}.yaml\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: web-{index}\n  \
             labels:\n    app.kubernetes.io/name: web\n  annotations:\n    helm.sh/hook: pre-install,post-upgrade\n    \
             helm.sh/hook-weights: pre-install=-5,post-upgrade=10\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      \
             containers:\n      - name: main\n        image: \"busybox:1.36\"\n        args:\n        - |\n          set -e\n          \
             exec migrate --all\n        env:\n        - name: URL\n          valueFrom:\n            secretKeyRef: {{name: db, key: url}}\n"
        )
    };
    (0..100).map(job).collect()
}

/// A values file with comments, nested maps, lists and multi-line strings.
pub(crate) fn values_text() -> String {
    let mut text = String::from("# Values for everyone.\nglobal:\n  domain: example.com\n  registry: \"\"\n");
    for index in 0..40 {
        write!(
            text,
            "\n## The part number {index}.\npart{index}:\n  enabled: true\n  replicas: {}\n  image:\n    \
             repository: library/part-{index}\n    tag: \"1.{index}.0\"  # keep quoted\n    pullPolicy: IfNotPresent\n  \
             resources:\n    limits: {{cpu: 500m, memory: 256Mi}}\n    requests: {{cpu: 50m, memory: 64Mi}}\n  \
             args:\n    - --level={index}\n    - '--name=part {index}'\n    - \"--path=/var/lib/part\"\n  \
             config: |\n    [main]\n    key = value {index}\n\n    other = 2\n  nodeSelector: {{}}\n  tolerations: []\n",
            index % 5
        )
        .expect("writing to a String cannot fail");
    }
    text
}

/// Rendered files with objects of many kinds and some hooks.
pub(crate) fn rendered_files() -> Vec<(String, Vec<u8>)> {
    const KINDS: &[&str] =
        &["Service", "Deployment", "ConfigMap", "Secret", "ServiceAccount", "Role", "Ingress", "Widget"];
    let mut files = Vec::new();
    for index in 0..100 {
        let mut text = String::new();
        for (number, kind) in KINDS.iter().enumerate().take(1 + index % 4) {
            let kind = KINDS[(index + number) % KINDS.len()].replace("Widget", kind);
            let hook = if index % 10 == 0 { "\n    helm.sh/hook: pre-install" } else { "" };
            write!(
                text,
                "---\n# Something of kind {kind}.\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: object-{index}-{number}\n  \
                 labels:\n    app: web\n  annotations:\n    note: \"text: {index}\"{hook}\nspec:\n  list:\n    - a: 1\n      \
                 b: [x, y]\n    - a: 2\n"
            )
            .expect("writing to a String cannot fail");
        }
        files.push((format!("chart/templates/file-{index:03}.yaml"), text.into_bytes()));
    }
    files
}

/// Arguments of `--set`.
pub(crate) fn assignments() -> Vec<String> {
    let assignment = |index: usize| {
        format!(
            "part{index}.image.tag=v{index},part{index}.args[2]=--x,list[1]=x,labels.app\\.kubernetes\\.io/name=n{index},on={{a,b,{index}}}"
        )
    };
    (0..50).map(assignment).collect()
}

fn chart_file(name: &str) -> String {
    format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\nappVersion: \"1.0\"\n")
}

const HELPERS: &str = r#"{{- define "NAME.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "NAME.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
"#;

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "NAME.name" . }}
  labels:
    {{- include "NAME.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas | default 1 }}
  template:
    metadata:
      annotations:
        checksum/config: {{ toYaml .Values.config | sha256sum }}
    spec:
      containers:
        {{- range $name, $container := .Values.containers }}
        - name: {{ $name }}
          image: "{{ $container.image.repository }}:{{ $container.image.tag | default $.Chart.AppVersion }}"
          {{- with $container.env }}
          env:
            {{- range $key := keys . | sortAlpha }}
            - name: {{ $key | upper | replace "." "_" }}
              value: {{ tpl (get $container.env $key) $ | quote }}
            {{- end }}
          {{- end }}
          resources:
            {{- toYaml $container.resources | nindent 12 }}
        {{- end }}
---
{{- if semverCompare ">=1.20-0" .Capabilities.KubeVersion.Version }}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "NAME.name" . }}
  labels: {{- include "NAME.labels" . | nindent 4 }}
spec:
  ports: {{ .Values.ports | toJson }}
{{- end }}
"#;

const VALUES: &str = r#"replicas: 2
labels: {team: web, tier: front}
config: {key: value, list: [1, 2, 3], nested: {deep: true}}
ports: [{name: http, port: 80}, {name: metrics, port: 9090}]
containers:
  server:
    image: {repository: nginx, tag: ""}
    env: {app.mode: quiet, app.host: "{{ .Release.Name }}.example.com"}
    resources: {limits: {memory: 64Mi}, requests: {cpu: 50m}}
  sidecar:
    image: {repository: busybox, tag: "1.36"}
    env: {url: "http://{{ include \"NAME.name\" . }}/", plain: text}
    resources: {}
"#;

/// The files of one chart with helpers, below `prefix`.
fn chart(name: &str, prefix: &str) -> Vec<File> {
    let file = |path: &str, text: String| File::new(format!("{prefix}{path}"), text.into_bytes());
    vec![
        file("Chart.yaml", chart_file(name)),
        file("values.yaml", VALUES.replace("NAME", name)),
        file("templates/_helpers.tpl", HELPERS.replace("NAME", name)),
        file("templates/deployment.yaml", DEPLOYMENT.replace("NAME", name)),
    ]
}

/// A typical small chart.
pub(crate) fn small_chart() -> Vec<File> {
    chart("small", "")
}

/// A chart with twenty typical subcharts, some of whose values it overrides.
pub(crate) fn umbrella() -> Vec<File> {
    let mut values = String::from("global: {domain: example.com, list: [a, b]}\n");
    let mut files = vec![File::new("Chart.yaml", chart_file("umbrella").into_bytes())];
    for index in 0..20 {
        let name = format!("sub{index}");
        write!(
            values,
            "{name}:\n  replicas: {index}\n  containers: {{server: {{image: {{tag: v{index}}}}}}}\n"
        )
        .expect("writing to a String cannot fail");
        files.extend(chart(&name, &format!("charts/{name}/")));
    }
    files.push(File::new("values.yaml", values.into_bytes()));
    files
}

/// Packs the files as `package` does.
pub(crate) fn archive(name: &str, files: &[File]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for file in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.data.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("{name}/{}", file.name), &*file.data)?;
    }
    Ok(archive.into_inner()?.finish()?)
}
