-- expect: the script took
-- at: pre-render
events.subchart('db'):wrap('pre-render', function(ctx, next)
    pcall(next)
    ctx.values.a = 'ESCAPED'
end)
--== db ext/lua/chart.lua
events.on('pre-render', function() while true do end end)
