-- expect: `chart.keywords[1]` is read-only
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.chart.keywords[1] = 'x'
end)
