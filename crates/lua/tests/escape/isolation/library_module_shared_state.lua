-- expect: held: 1
local counter = require('common/counter')
counter.n += 1
error('held: ' .. counter.n)
--== db ext/lua/chart.lua
local counter = require('common/counter')
counter.n += 100
--== common ext/lua/counter.lua
return {n = 0}
