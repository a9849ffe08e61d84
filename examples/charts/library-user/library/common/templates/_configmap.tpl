{{- define "common.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "common.configmap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .root.Release.Name }}-{{ .root.Chart.Name }}
  labels:
    {{- include "common.labels" .root | nindent 4 }}
data:
  {{- toYaml .data | nindent 2 }}
{{- end -}}
