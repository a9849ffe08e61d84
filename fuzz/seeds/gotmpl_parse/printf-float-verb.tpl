kind: ConfigMap
wrong: {{ printf "%d" .Values.count | quote }}
general: {{ printf "%v %g %e %.2f" .Values.count .Values.ratio .Values.ratio .Values.ratio | quote }}
whole: {{ printf "%d|%5d|%-5d|%05d|%+d|%x" 42 42 42 42 42 42 | quote }}
text: {{ printf "%s|%q|%10s|%-10s|%.2s" "text" "te\"xt" "text" "text" "text" | quote }}
types: {{ printf "%T %T %T %T %T" .Values.count 1 "s" .Values nil | quote }}
missing: {{ printf "%s %s" "one" | quote }}
extra: {{ printf "%s" "one" "two" | quote }}
bad: {{ printf "%!" | quote }}
list: {{ printf "%v %v" (list 1 "a" nil) (dict "k" 1.5) | quote }}
sharp: {{ printf "%#v %#v" (list 1 "a") (dict "k" "v") | quote }}
