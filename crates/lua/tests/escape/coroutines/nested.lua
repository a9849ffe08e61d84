-- expect: stack overflow
local function f() coroutine.wrap(f)() end
f()
