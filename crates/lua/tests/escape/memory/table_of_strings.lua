-- expect: more memory than it may | the script took longer
local t = {}
for i = 1, 1e9 do t[i] = 'x' .. i end
