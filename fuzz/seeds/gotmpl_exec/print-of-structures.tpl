kind: ConfigMap
text: |
  map: {{ map | quote }}
  list: {{ list | quote }}
  print: {{ print 1 2 "a" "b" 3 nil | quote }}
  println: {{ println "a" 1 | quote }}
  html: {{ html "<a href='x'>&</a>" }}
  js: {{ js "it's \"<\"" | quote }}
  url: {{ urlquery "a b&c=d/é" }}
