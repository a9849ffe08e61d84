-- expect: more memory than it may
local function nested(n)
    return coroutine.wrap(function()
        if n == 0 then
            coroutine.yield(1)
            return buffer.create(2^29)
        end
        local inner = nested(n - 1)
        coroutine.yield(inner())
        return pcall(inner)
    end)
end
local outer = nested(5)
outer()
pcall(outer)
