-- expect: more memory than it may
local thread
pcall(function()
    thread = coroutine.create(function() return buffer.create(2^29) end)
    coroutine.resume(thread)
end)
coroutine.close(thread)
