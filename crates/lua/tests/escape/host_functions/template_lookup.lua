-- expect: function "lookup" not defined
template.render('{{ lookup "v1" "Secret" "" "" }}', {})
