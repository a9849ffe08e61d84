-- expect: held: empty
local s = ('x'):rep(0/0)
error('held: ' .. (s == '' and 'empty' or 'ESCAPED'))
