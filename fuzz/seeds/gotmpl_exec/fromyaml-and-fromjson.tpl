kind: ConfigMap
map: {{ fromYaml "a: [1, yes, 0x10, 1_000, 2001-01-01, 12:30, ~]" | toJson }}
array: {{ fromYamlArray "[a, {b: c}]" | toJson }}
json: {{ fromJson `{"a": [1, 1.0, 1e3, "x"]}` | toJson }}
jsonArray: {{ fromJsonArray `["a", null]` | toJson }}
badYaml: {{ (fromYaml "a: [").Error | quote }}
notMap: {{ fromYaml "- a" | toJson }}
badJson: {{ (fromJson "{").Error | quote }}
badArray: {{ fromJsonArray "{}" | toJson }}
