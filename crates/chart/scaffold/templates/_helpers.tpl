{{/*
The name of the chart. Names of objects end at 63 characters, because some of them become DNS labels.
*/}}
{{- define "<CHARTNAME>.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
The name of the release's objects: release and chart, or only the release when it already names the chart.
*/}}
{{- define "<CHARTNAME>.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $both := contains $chart .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $chart) -}}
{{- .Values.fullnameOverride | default $both | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
Chart and version as a label; a label may not have a plus sign.
*/}}
{{- define "<CHARTNAME>.chart" -}}
{{- replace "+" "_" (printf "%s-%s" .Chart.Name .Chart.Version) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
Labels that find the pods. They must not change between versions of the chart.
*/}}
{{- define "<CHARTNAME>.selectorLabels" -}}
app.kubernetes.io/name: {{ include "<CHARTNAME>.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/*
Labels of all objects.
*/}}
{{- define "<CHARTNAME>.labels" -}}
{{ include "<CHARTNAME>.selectorLabels" . }}
helm.sh/chart: {{ include "<CHARTNAME>.chart" . }}
{{- with .Chart.AppVersion }}
app.kubernetes.io/version: {{ quote . }}
{{- end }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/*
The service account of the pods.
*/}}
{{- define "<CHARTNAME>.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create | ternary (include "<CHARTNAME>.fullname" .) "default" -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end -}}
