-- expect: the script took
-- seconds: 0.2
while true do pcall(template.render, '{{ range untilStep 0 10000 1 }}{{ end }}', {}) end
