-- expect: must be a path inside the chart
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.templates = {{name = '/etc/x', data = 'ESCAPED'}}
end)
