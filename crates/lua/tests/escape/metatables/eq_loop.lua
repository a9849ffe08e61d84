-- expect: the script took
local mt = {__eq = function() while true do end end}
print(setmetatable({}, mt) == setmetatable({}, mt))
