-- expect: the script took
-- at: pre-render
events.on('pre-render', function() pcall(function() while true do end end) end)
