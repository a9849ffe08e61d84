-- expect: the result of untilStep is larger than
template.render('{{ range untilStep 0 100000000 1 }}x{{ end }}', {})
