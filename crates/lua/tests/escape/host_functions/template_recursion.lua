-- expect: template
template.render('{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}', {})
