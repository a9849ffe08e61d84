-- expect: cannot be kept
-- at: pre-render
events.on('pre-render', function(ctx)
local _, why = pcall(error, coroutine.create(print))
ctx.values.e = why
end)
