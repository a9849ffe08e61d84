{{/* The name of every object, short enough for Kubernetes. */}}
{{- define "greeter.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels by which pods are found; they must not change between versions. */}}
{{- define "greeter.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
