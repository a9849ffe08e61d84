//! Annotations for the embedded API, which runs no containers, that make its pods behave as their shell scripts would.

use serde_json::{Value, json};

use crate::TestEnv;

/// Derives the annotations from a script: `include "simulation"` gives those for the log and the exit code, and
/// `include "simulated-duration"` the one for the duration. A real node runs the script and ignores them.
const TEMPLATES: &str = r#"
{{- define "simulation" -}}
{{- $code := regexFind "exit [0-9]+" . | trimPrefix "exit " | default "0" -}}
{{- $said := regexFindAll "echo [^;]*" . -1 | join "\n" | replace "echo " "" -}}
pintle.dev/simulate-failures: {{ if eq $code "0" }}"0"{{ else }}always{{ end }}
pintle.dev/simulate-exit-code: {{ $code | quote }}
pintle.dev/simulate-log: {{ regexReplaceAll "\\$([A-Za-z_]+)" $said "$$(${1})" | quote }}
{{- end -}}
{{- define "simulated-duration" -}}
pintle.dev/simulate-duration: {{ regexFind "sleep [0-9]+" . | trimPrefix "sleep " | default "0" }}s
{{- end -}}
"#;

/// Writes the templates `simulation` and `simulated-duration` into a chart of a test.
pub fn write_simulation_helpers(env: &TestEnv, chart: &str) {
    env.write(&format!("{chart}/templates/_simulation.tpl"), TEMPLATES);
}

/// The annotation of a pod that logs `text`, for an object outside of a chart.
pub fn simulated_log(text: &str) -> Value {
    json!({"pintle.dev/simulate-log": text})
}
