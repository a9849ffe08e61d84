kind: ConfigMap
yaml: {{ map | toYaml | nindent 2 }}
pretty: {{ map | toYamlPretty | nindent 2 }}
json: {{ map | toJson }}
indented: {{ map | toPrettyJson | nindent 2 }}
raw: {{ map | toRawJson }}
toml: {{ dict "a" 1 "t" (dict "b" "x") | toToml | quote }}
