-- expect: must be a path inside the chart
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.files = {{name = '../../etc/cron.d/x', data = 'ESCAPED'}}
end)
