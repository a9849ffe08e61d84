-- expect: there is no such module in ext/lua
require('data')
--== web ext/lua/data.txt
return 'ESCAPED'
