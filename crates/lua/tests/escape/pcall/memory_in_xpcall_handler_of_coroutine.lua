-- expect: more memory than it may
pcall(coroutine.wrap(function()
    xpcall(function() coroutine.yield(error('x')) end, function() return buffer.create(2^29) end)
end))
