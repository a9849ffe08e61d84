-- expect: the script took
local function f() pcall(f) pcall(f) end
f()
