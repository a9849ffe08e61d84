-- expect: a buffer cannot be kept
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = buffer.create(8)
end)
