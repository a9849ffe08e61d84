kind: ConfigMap
once: {{ tpl .name . | quote }}
twice: {{ tpl (tpl .name .) . | quote }}
helper: {{ tpl `{{ include "greet" "tpl" }}` . }}
local: {{ tpl `{{ define "own" }}own{{ end }}{{ include "own" . }}` . }}
