-- expect: `values` must be a table, not a string
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values = 'x'
end)
