apiVersion: v1
kind: ConfigMap
metadata:
  name: trim
data:
  left: "a   {{- "b" }}"
  right: "{{ "c" -}}    d"
  both: "e   {{- "f" -}}   g"
  {{- /* gone with its line */}}
  {{- if true }}
  inside: "yes"
  {{- end }}
  minus: "{{ -1 }}"
