-- expect: the script
-- seconds: 0.2
local s = ('x'):rep(100000)
while true do s = s:gsub('x', 'xxxxxxxxxx') end
