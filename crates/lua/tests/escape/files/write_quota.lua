-- expect: wrote more than
-- granted: filesystem
local text = ('x'):rep(1000000)
while true do fs.write('large.txt', text) end
