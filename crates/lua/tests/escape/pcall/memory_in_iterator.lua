-- expect: more memory than it may
pcall(function()
    for _ in function() return buffer.create(2^29) end do end
end)
