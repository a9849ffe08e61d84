-- expect: template
template.render('{{ range until 100000000 }}x{{ end }}', {})
