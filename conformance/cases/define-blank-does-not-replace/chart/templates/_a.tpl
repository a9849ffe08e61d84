{{ define "x" }}

{{ end }}
