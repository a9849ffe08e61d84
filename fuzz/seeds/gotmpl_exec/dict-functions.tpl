kind: ConfigMap
{{- $d := dict "b" 2 "a" 1 "odd" }}
dict: {{ $d | toJson }}
set: {{ set $d "c" (dict "x" 1) | toJson }}
unset: {{ unset $d "odd" | toJson }}
keys: {{ keys $d (dict "z" 1) | sortAlpha | toJson }}
values: {{ values (dict "one" 1) | toJson }}
pick: {{ pick $d "a" "nothing" | toJson }}
omit: {{ omit $d "a" | toJson }}
has: {{ hasKey $d "a" }} {{ hasKey $d "zz" }}
get: {{ get $d "a" }} "{{ get $d "zz" }}"
dig: {{ dig "c" "x" "none" $d }} {{ dig "c" "y" "none" $d }}
pluck: {{ pluck "a" $d (dict "a" 5) | toJson }}
merge: {{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}
overwrite: {{ mergeOverwrite (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}
copy: {{ deepCopy $d | toJson }}
