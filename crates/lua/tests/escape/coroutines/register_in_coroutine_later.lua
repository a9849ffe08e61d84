-- expect: only while the chart is loaded
-- at: pre-render
local co = coroutine.wrap(function() coroutine.yield() events.on('pre-render', print) end)
co()
events.on('pre-render', function() co() end)
