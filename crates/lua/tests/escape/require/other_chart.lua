-- expect: there is no such module in library charts
require('db/secret')
--== db ext/lua/secret.lua
return 'ESCAPED'
