-- expect: the script took
-- seconds: 0.2
local s = ('x'):rep(1000000)
while true do hash.sha512(s) end
