-- expect: more than
local s = ('a'):rep(100000)
regex.replace('a', s, ('b'):rep(100000))
