-- expect: there is no such module in ext/lua
require('secret')
--== db ext/lua/secret.lua
return 'ESCAPED'
