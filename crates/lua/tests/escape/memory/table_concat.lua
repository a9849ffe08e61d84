-- expect: more memory than it may
local t = table.create(100000, ('x'):rep(1000))
local s = table.concat(t)
