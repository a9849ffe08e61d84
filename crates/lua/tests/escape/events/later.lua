-- expect: only while the chart is loaded
-- at: pre-render
events.on('pre-render', function() events.on('post-render', print) end)
