-- expect: the text has more than
local t = table.create(15000, 'x')
for i = 1, 240 do t = {k = t} end
yaml.encode(t)
