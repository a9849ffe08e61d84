{{ define "check" }}
{{ if not .Values.ok }}
{{ fail (printf "ok is %v" .Values.ok) }}
{{ end }}
{{ end }}
