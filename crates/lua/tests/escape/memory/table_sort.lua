-- expect: table.sort takes at most
local t = {}
for i = 1, 1000 do t[i] = i end
local big = table.create(1000000, 1)
big[1000001] = 1
table.sort(big)
