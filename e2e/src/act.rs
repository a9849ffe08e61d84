//! Scripts that pods of tests run, told to an API on which nothing runs.

use serde_json::{Value, json};

use crate::TestEnv;

/// What our own API has to be told of a script: `include "acts"` gives the annotations for what is said and how it ends,
/// and `include "takes"` the one for how long. A real node runs the script itself and does not look at them.
const TEMPLATES: &str = r#"
{{- define "acts" -}}
{{- $code := regexFind "exit [0-9]+" . | trimPrefix "exit " | default "0" -}}
{{- $said := regexFindAll "echo [^;]*" . -1 | join "\n" | replace "echo " "" -}}
pintle.dev/simulate-failures: {{ if eq $code "0" }}"0"{{ else }}always{{ end }}
pintle.dev/simulate-exit-code: {{ $code | quote }}
pintle.dev/simulate-log: {{ regexReplaceAll "\\$([A-Za-z_]+)" $said "$$(${1})" | quote }}
{{- end -}}
{{- define "takes" -}}
pintle.dev/simulate-duration: {{ regexFind "sleep [0-9]+" . | trimPrefix "sleep " | default "0" }}s
{{- end -}}
"#;

/// Writes the templates `acts` and `takes` into a chart in the folder of a test.
pub fn write_acts(env: &TestEnv, chart: &str) {
    env.write(&format!("{chart}/templates/_acts.tpl"), TEMPLATES);
}

/// The same for an object that no chart makes: the annotation of a pod that says this.
pub fn says(text: &str) -> Value {
    json!({"pintle.dev/simulate-log": text})
}
