-- expect: more memory than it may | the script took longer
local s = 'x'
while true do s = s .. s end
