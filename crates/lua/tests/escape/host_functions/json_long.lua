-- expect: the document has more than
local s = '"' .. ('x'):rep(4194304) .. '"'
json.decode(s)
