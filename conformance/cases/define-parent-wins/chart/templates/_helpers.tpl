{{ define "shared.label" }}from-parent{{ end }}
