-- expect: handler of chart web/db at ext/lua/chart.lua:
-- at: pre-render
events.subchart('db'):wrap('pre-render', function(ctx, next) next() end)
--== db ext/lua/chart.lua
events.on('pre-render', function() while true do end end)
