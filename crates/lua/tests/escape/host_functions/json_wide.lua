-- expect: the script
local all = {}
local s = '[' .. ('[],'):rep(100000) .. '[]]'
while true do all[#all + 1] = json.decode(s) end
