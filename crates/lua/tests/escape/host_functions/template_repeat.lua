-- expect: template
template.render('{{ repeat 1000000000 \"x\" }}', {})
