-- expect: the list has nothing at 2
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = {[1] = 1, [3] = 3}
end)
