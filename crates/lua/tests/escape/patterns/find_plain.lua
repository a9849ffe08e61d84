-- expect: the script took
-- seconds: 0.5
local text, wanted = ('a'):rep(2000000), ('a'):rep(1000000) .. 'b'
while true do string.find(text, wanted, 1, true) end
