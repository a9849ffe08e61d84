-- expect: more memory than it may
local all = {}
for i = 1, 1e9 do all[i] = function() return i end end
