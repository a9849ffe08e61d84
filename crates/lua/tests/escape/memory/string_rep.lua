-- expect: string.rep would make more than
local s = ('x'):rep(1e9)
