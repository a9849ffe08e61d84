-- expect: template
template.render('{{ tpl .t . }}', {t = '{{ tpl .t . }}'})
