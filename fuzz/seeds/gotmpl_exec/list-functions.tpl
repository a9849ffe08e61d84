kind: ConfigMap
text: |
{{- $l := list 3 1 2 }}
  first: {{ first $l }} {{ last $l }} {{ rest $l | toJson }} {{ initial $l | toJson }}
  append: {{ append $l 4 | toJson }} {{ prepend $l 0 | toJson }} {{ concat $l (list "a") | toJson }}
  reverse: {{ reverse $l | toJson }} {{ uniq (list 1 2 1 "1") | toJson }} {{ without $l 1 | toJson }}
  has: {{ has 2 $l }} {{ has 2.0 $l }} {{ has "2" $l }}
  compact: {{ compact (list 0 1 "" "a" nil false) | toJson }}
  slice: {{ slice $l 1 | toJson }} {{ slice $l 0 2 | toJson }} {{ index $l 1 }}
  chunk: {{ chunk 2 (list 1 2 3 4 5) | toJson }}
  sort: {{ sortAlpha (list "b" "a" 10 9) | toJson }}
  join: {{ join "-" $l }} {{ list "a" nil "b" | join "," }}
  until: {{ until 3 | toJson }} {{ untilStep 1 10 4 | toJson }} {{ seq 1 2 7 }}
  split: {{ splitList "," "a,b,c" | toJson }} {{ (split "," "a,b,c")._1 }} {{ (splitn "," 2 "a,b,c")._1 }}
  len: {{ len $l }} {{ len "äb" }} {{ len (dict "a" 1) }}
  tuple: {{ tuple 1 "a" | toJson }}
