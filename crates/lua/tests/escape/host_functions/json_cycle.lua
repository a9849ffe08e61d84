-- expect: the table contains itself
local t = {}
t.x = {t}
json.encode(t)
