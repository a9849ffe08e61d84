{{ define "shared.label" }}from-child{{ end }}
