-- expect: values in all
local t = {1}
for i = 1, 40 do t = {t, t} end
json.encode(t)
