-- expect: the script took
-- seconds: 0.2
local t = table.create(500000, 1)
while true do table.insert(t, 1, 2) table.remove(t, 1) end
