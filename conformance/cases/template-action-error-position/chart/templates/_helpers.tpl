{{ define "inner" }}
{{ index .Values.list 5 }}
{{ end }}
