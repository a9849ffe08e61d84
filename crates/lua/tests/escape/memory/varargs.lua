-- expect: more memory than it may
local function f(...) return f(1, ...) end
f()
