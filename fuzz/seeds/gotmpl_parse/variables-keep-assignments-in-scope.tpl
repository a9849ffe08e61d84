{{- $a := 1 }}{{ $b := 1 }}
{{- if true }}{{ $a = 2 }}{{ $b := 2 }}{{ end }}
kind: ConfigMap
a: {{ $a }}
b: {{ $b }}
{{- with $c := "c" }}
c: {{ $c }} {{ . }} {{ $.Release.Name }}
{{- end }}
{{- with .Values.none }}
never: true
{{- else with "second" }}
second: {{ . }}
{{- end }}
