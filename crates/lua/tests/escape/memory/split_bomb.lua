-- expect: more memory than it may | the script took longer
-- seconds: 0.2
local t = {}
while true do t[#t + 1] = (('x,'):rep(10000)):split(',') end
