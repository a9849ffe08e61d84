{{ define "outer" }}
x: {{ include "inner" . }}
{{ end }}
{{ define "inner" }}
{{ .Values.missing.field }}
{{ end }}
