-- expect: attempt to yield
-- at: pre-render
events.on('pre-render', function() coroutine.yield(1) end)
