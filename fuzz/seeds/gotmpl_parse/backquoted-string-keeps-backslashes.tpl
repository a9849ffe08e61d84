kind: ConfigMap
raw: {{ `a\nb` | quote }}
quoted: {{ "a\nb\t\u00e9" | quote }}
char: {{ 'x' }}
squote: {{ squote "a" 1 nil | quote }}
multi: {{ `line one
line two` | quote }}
