-- expect: more memory than it may
local s = 'x'
while true do s = s .. s end
