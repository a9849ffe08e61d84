-- expect: more memory than it may
pcall(coroutine.wrap(function() return buffer.create(2^29) end))
