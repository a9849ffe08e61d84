{{ define "greet" }}hello {{ . }}{{ end }}
