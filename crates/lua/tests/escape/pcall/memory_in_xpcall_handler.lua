-- expect: more memory than it may
xpcall(function() error('x') end, function() return buffer.create(2^29) end)
