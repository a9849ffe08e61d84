-- expect: held: false
local big = json.decode('9007199254740993')
local mt = getmetatable(big)
if type(mt) == 'table' then mt.__index = nil error('ESCAPED') end
error('held: ' .. tostring(mt))
