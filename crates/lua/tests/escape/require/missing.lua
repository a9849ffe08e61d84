-- expect: there is no such module in ext/lua
require('os.execute')
