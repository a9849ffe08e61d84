-- expect: both texts and numbers as keys
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = {1, a = 2}
end)
