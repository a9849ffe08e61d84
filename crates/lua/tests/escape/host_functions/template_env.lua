-- expect: function "env" not defined
template.render('{{ env "HOME" }}', {})
