-- expect: the script took
local s = ('x'):rep(4000000)
while true do s = s:reverse() end
