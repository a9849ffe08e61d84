-- expect: more memory than it may | the script took longer
local function f(...) return f(1, ...) end
f()
