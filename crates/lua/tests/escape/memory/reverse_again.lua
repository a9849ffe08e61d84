-- expect: the script took
-- seconds: 0.5
local s = ('x'):rep(4000000)
while true do s = s:reverse() end
