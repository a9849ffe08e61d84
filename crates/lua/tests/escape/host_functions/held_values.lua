-- expect: values in all
local t = table.create(5000, 1)
for i = 1, 30 do t = table.clone(t) t[1] = table.clone(t) end
json.encode(t)
