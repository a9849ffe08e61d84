-- expect: function "expandenv" not defined
template.render('{{ expandenv "$HOME" }}', {})
