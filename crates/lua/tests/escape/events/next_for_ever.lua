-- expect: the script took
-- at: pre-render
events.subchart('db'):wrap('pre-render', function(ctx, next) while true do next() end end)
--== db ext/lua/chart.lua
events.on('pre-render', function() end)
