-- expect: a table cannot be a key
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = {[{}] = 1}
end)
