-- expect: more memory than it may
-- at: pre-render
-- A parent that wraps a handler cannot catch its limit either.
events.subchart('db'):wrap('pre-render', function(ctx, next)
    pcall(next)
    ctx.values.a = 'ESCAPED'
end)
--== db ext/lua/chart.lua
events.on('pre-render', function() buffer.create(2^29) end)
