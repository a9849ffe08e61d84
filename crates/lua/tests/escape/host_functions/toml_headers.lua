-- expect: the text has more than
local key = ('k'):rep(10000)
local t = {x = 1}
for i = 1, 240 do t = {[key] = t} end
toml.encode(t)
