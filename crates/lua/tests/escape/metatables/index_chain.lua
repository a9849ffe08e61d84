-- expect: loop
local t = {}
setmetatable(t, {__index = t})
print(t.a)
