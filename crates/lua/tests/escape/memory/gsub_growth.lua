-- expect: the script
local s = ('x'):rep(100000)
while true do s = s:gsub('x', 'xxxxxxxxxx') end
