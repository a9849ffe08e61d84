-- expect: the number 1.5 cannot be a key
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = {[1.5] = 1}
end)
