-- expect: the script took
local s = ('x'):rep(1000000)
while true do hash.sha512(s) end
