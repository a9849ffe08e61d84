-- expect: the script took
-- seconds: 0.2
local s = ('a'):rep(60000)
for i = 1, 1e6 do regex.find_all('a.*b|a', s) end
