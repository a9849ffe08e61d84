-- expect: the script took
coroutine.resume(coroutine.create(function() while true do end end))
