-- expect: the module is being loaded already
require('chart2')
--== web ext/lua/chart2.lua
require('chart2')
