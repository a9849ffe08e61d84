-- expect: limit reached
template.render('{{ range until 1000 }}{{ genPrivateKey \"rsa\" }}{{ end }}', {})
