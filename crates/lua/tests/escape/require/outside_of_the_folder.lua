-- expect: there is no such module in ext/lua
require('other')
--== web ext/other.lua
return 'ESCAPED'
