-- expect: string.rep would make more than
local s = ('abc'):rep(2^40)
