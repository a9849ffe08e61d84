-- expect: more memory than it may
-- The host makes the strings, so the error comes from a host function.
local kept = {}
pcall(function()
    for i = 1, 1e6 do kept[i] = json.encode({ i, ('x'):rep(1000000) }) end
end)
