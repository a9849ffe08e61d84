-- expect: the script took
local function f() xpcall(function() while true do end end, f) end
f()
