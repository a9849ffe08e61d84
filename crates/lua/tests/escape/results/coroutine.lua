-- expect: a coroutine cannot be kept
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = coroutine.create(print)
end)
