kind: ConfigMap
compare:
{{- range list ">=1.2.3" "^1.2" "~1.2.3" "1.x" "<1.0 || >=1.5" "1.2 - 1.4" "!=1.3.5" "*" }}
  - {{ . | quote }}: {{ semverCompare . "1.3.5" }}
{{- end }}
pre: {{ semverCompare ">=1.2.0" "1.3.0-rc.1" }} {{ semverCompare ">=1.2.0-0" "1.3.0-rc.1" }}
parts: {{ with semver "v1.2.3-beta.1+exp.sha" }}{{ .Major }} {{ .Minor }} {{ .Patch }} {{ .Prerelease }} {{ .Metadata }} {{ .Original }}{{ end }}
order: {{ (semver "1.2.3").Compare (semver "1.2.4") }}
