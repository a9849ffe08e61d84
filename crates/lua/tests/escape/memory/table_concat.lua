-- expect: more memory than it may | the script took longer
local t = table.create(100000, ('x'):rep(1000))
local s = table.concat(t)
