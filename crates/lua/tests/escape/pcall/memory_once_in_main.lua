-- expect: more memory than it may
local ok = pcall(function() return buffer.create(2^29) end)
