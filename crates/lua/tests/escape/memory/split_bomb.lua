-- expect: more memory than it may
local t = {}
while true do t[#t + 1] = (('x,'):rep(10000)):split(',') end
