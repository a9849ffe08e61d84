-- expect: the script took
coroutine.wrap(function() while true do end end)()
