-- expect: limit reached | took more than
template.render('{{ range until 1000 }}{{ genPrivateKey \"rsa\" }}{{ end }}', {})
