-- expect: template
template.render('{{ repeat 100000 (repeat 100000 "x") }}', {})
