-- expect: the script took
-- seconds: 0.5
local text, separator = ('a'):rep(2000000), ('a'):rep(1000000) .. 'b'
while true do text:split(separator) end
