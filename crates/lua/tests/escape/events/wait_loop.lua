-- expect: the script took
-- at: wait
events.on('wait', function() while true do end end)
