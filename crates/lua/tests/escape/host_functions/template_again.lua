-- expect: the script took
while true do pcall(template.render, '{{ range untilStep 0 10000 1 }}{{ end }}', {}) end
