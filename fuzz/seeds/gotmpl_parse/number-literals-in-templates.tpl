kind: ConfigMap
numbers:
{{- range list 10 0x1F 0b101 0o17 1_000 -5 }}
- {{ . }} {{ kindOf . }}
{{- end }}
{{- range list 1.5 1e3 1e21 0.00001 100000000.0 0x1p4 }}
- {{ . }} {{ kindOf . }}
{{- end }}
