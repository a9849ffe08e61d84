-- expect: more memory than it may
coroutine.resume(coroutine.create(function() return buffer.create(2^29) end))
