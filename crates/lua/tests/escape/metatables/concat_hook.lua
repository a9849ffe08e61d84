-- expect: the script took
local t = setmetatable({}, {__concat = function() while true do end end})
print(t .. 'x')
