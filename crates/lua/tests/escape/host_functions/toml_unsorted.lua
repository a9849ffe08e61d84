-- expect: the script took
-- seconds: 0.5
local lines = {}
for i = 1, 20000 do lines[i] = string.format('k%05d = 1', 20000 - i) end
local text = table.concat(lines, '\n')
while true do toml.decode(text) end
