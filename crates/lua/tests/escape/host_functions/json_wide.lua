-- expect: more memory than it may | the script took longer
local all = {}
local s = '[' .. ('[],'):rep(100000) .. '[]]'
while true do all[#all + 1] = json.decode(s) end
