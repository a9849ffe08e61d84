-- expect: held: nil
-- at: pre-render
local x = 1
--== db ext/lua/chart.lua
events.on('pre-render', function(ctx) error('held: ' .. tostring(ctx.values.a)) end)
