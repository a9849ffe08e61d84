-- expect: more memory than it may | the script took longer
local all = {}
for i = 1, 1e9 do all[i] = function() return i end end
