-- expect: nil pointer | can't evaluate field
template.render('{{ .Files.Get "Chart.yaml" }}', {}).x.y = 1
