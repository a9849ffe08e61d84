-- expect: values
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values = {1, 2}
end)
