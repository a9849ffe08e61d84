-- expect: more memory than it may
local t = setmetatable({}, {
    __index = function() return buffer.create(2^29) end,
    __tostring = function() return tostring(buffer.create(2^29)) end,
})
pcall(function() return t.x end)
pcall(tostring, t)
