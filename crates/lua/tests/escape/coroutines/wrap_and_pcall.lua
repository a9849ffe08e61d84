-- expect: the script took
pcall(coroutine.wrap(function() pcall(function() while true do end end) while true do end end))
