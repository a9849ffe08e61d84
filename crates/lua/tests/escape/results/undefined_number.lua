-- expect: infinite or undefined cannot be kept
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = 0/0
end)
