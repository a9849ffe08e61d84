part of {{ .Template.Name }}
