kind: ConfigMap
x: {{ block "named" "given" }}<{{ . }}>{{ end }}
y: {{ include "named" "again" }}
