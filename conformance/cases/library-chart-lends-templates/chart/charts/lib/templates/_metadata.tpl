{{ define "lib.metadata" -}}
name: {{ .Release.Name }}-{{ .Chart.Name }}
{{- end }}
