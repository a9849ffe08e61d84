-- expect: the table contains itself
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.m.m = ctx.values.m
end)
