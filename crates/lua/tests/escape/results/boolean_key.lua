-- expect: a boolean cannot be a key
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = {[true] = 1}
end)
