-- expect: more memory than it may
xpcall(function() return buffer.create(2^29) end, function() return 'fine' end)
