kind: ConfigMap
list:
{{- range $i, $x := list "a" "b" "c" "d" "e" }}
{{- if eq $x "b" }}{{ continue }}{{ end }}
{{- if eq $x "e" }}{{ break }}{{ end }}
  - {{ $i }}-{{ $x }}
{{- else }}
  - none
{{- end }}
empty:
{{- range .Values.nothing }}
  - never
{{- else }}
  - none
{{- end }}
