-- expect: bytes of text in all
local s = ('x'):rep(100000)
local t = {}
for i = 1, 1000 do t[i] = s end
json.encode(t)
