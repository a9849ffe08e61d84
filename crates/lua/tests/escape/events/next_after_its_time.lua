-- expect: destructed callback
-- at: pre-render
local kept
events.subchart('db'):wrap('pre-render', function(ctx, next) kept = next end)
events.on('pre-render', function() kept() end)
--== db ext/lua/chart.lua
events.on('pre-render', function() end)
