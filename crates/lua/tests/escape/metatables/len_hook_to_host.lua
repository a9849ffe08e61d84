-- expect: held: raw
-- The host must not call metamethods of what it takes back.
local t = setmetatable({}, {__len = function() error('ESCAPED') end, __iter = function() error('ESCAPED') end,
    __index = function() error('ESCAPED') end, __pairs = function() error('ESCAPED') end})
if json.encode(t) ~= '{}' then error('ESCAPED') end
error('held: raw')
