{{ define "pick" }}b{{ end }}
