-- expect: `chart` is read-only
-- at: pre-render
events.on('pre-render', function(ctx)
table.clear(ctx.chart)
end)
