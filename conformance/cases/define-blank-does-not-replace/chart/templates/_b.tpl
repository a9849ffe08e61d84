{{ define "x" }}text{{ end }}
{{ define "y" }}first{{ end }}{{ define "y" }}   {{ end }}
