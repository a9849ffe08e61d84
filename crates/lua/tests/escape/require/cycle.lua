-- expect: the module is being loaded already
require('a')
--== web ext/lua/a.lua
require('b')
--== web ext/lua/b.lua
require('a')
