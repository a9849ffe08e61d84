-- expect: the script took
-- seconds: 0.5
while true do pcall(template.render, '{{ range untilStep 0 10000 1 }}{{ end }}', {}) end
