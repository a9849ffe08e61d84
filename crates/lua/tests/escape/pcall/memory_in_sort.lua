-- expect: more memory than it may
pcall(table.sort, {3, 2, 1}, function() return buffer.create(2^29) end)
