-- expect: together wrote more than
-- granted: filesystem
local text = ('x'):rep(1000000)
for i = 1, 10 do pcall(fs.write, 'large-' .. i .. '.txt', text) end
