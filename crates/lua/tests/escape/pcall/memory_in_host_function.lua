-- expect: more memory than it may
-- The host makes the string, so the error comes from a host function.
local kept = {}
pcall(function()
    for i = 1, 1e6 do kept[i] = json.encode(('x'):rep(1000000)) end
end)
