-- expect: the script took more than
-- seconds: 2
local text = ('ab'):rep(500000)
regex.match('(a|b)*a(a|b){500}c', text)
