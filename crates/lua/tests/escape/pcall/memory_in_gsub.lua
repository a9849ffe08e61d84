-- expect: more memory than it may
pcall(string.gsub, 'aaa', 'a', function() return buffer.create(2^29) end)
