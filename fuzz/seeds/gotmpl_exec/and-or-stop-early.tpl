kind: ConfigMap
and: {{ and false (fail "never") }}
or: {{ or "yes" (fail "never") }}
last: {{ and 1 "two" 3.5 }}
none: {{ or 0 "" nil | quote }}
