-- expect: the number 0 cannot be a key
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = {[0] = 1}
end)
