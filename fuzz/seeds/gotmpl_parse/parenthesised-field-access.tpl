kind: ConfigMap
x: {{ (dict "a" (dict "b" "deep")).a.b }}
y: {{ (index (list (dict "k" "v")) 0).k }}
z: {{ (.Values.none).anything }}
