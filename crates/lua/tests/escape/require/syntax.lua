-- expect: ext/lua/bad.lua:2:
require('bad')
--== web ext/lua/bad.lua
local x = 1
local = 2
