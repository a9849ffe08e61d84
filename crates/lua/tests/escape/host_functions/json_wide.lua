-- expect: the script
-- seconds: 0.2
local all = {}
local s = '[' .. ('[],'):rep(100000) .. '[]]'
while true do all[#all + 1] = json.decode(s) end
