-- expect: the script took
-- seconds: 0.2
local t = {}
for i = 1, 100000 do t[i] = i end
while true do table.sort(t) end
