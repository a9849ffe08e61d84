-- expect: not ready after
-- at: wait
events.on('wait', function() return false, 'never' end)
