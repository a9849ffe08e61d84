-- expect: infinite or undefined
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = 1 / 0
end)
