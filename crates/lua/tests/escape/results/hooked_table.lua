-- expect: held: raw
-- at: pre-render
events.on('pre-render', function(ctx)
local t = setmetatable({a = 1}, {__index = function() error('ESCAPED') end, __iter = function() error('ESCAPED') end})
ctx.values.t = t
error('held: raw')
end)
