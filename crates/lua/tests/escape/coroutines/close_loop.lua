-- expect: the script took
while true do local co = coroutine.create(function() end) coroutine.close(co) end
