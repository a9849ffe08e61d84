kind: ConfigMap
text: |
  match: {{ regexMatch "^[a-z]+[0-9]*$" "abc12" }} {{ regexMatch `\bfoo\b` "a foo b" }}
  find: {{ regexFind "[0-9]+" "ab12cd34" }}
  all: {{ regexFindAll "[0-9]+" "1a22b333" -1 | toJson }} {{ regexFindAll "[0-9]" "123" 2 | toJson }}
  replace: {{ regexReplaceAll "(a)(b)?" "ab a" "[${1}-$2]" }}
  literal: {{ regexReplaceAllLiteral "a" "banana" "$1" }}
  split: {{ regexSplit "," "a,b,,c" -1 | toJson }} {{ regexSplit "," "a,b,c" 2 | toJson }}
  quote: {{ regexQuoteMeta "1.2*[x]" | quote }}
  groups: {{ regexReplaceAll `(?P<year>\d{4})-(\d\d)` "2023-07" "${2}/${year}" }}
  unicode: {{ regexFindAll `\p{Lu}` "aÄbÖ" -1 | toJson }}
