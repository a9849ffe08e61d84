-- expect: the script took
-- seconds: 0.2
local s = ('x'):rep(4000000)
while true do s = s:reverse() end
