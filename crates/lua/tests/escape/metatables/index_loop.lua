-- expect: stack overflow
local t = {}
setmetatable(t, {__index = function(t, k) return t[k .. 'x'] end})
print(t.a)
