{{ define "pick" }}a{{ end }}
