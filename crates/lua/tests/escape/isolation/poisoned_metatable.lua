-- expect: held: ABC
error('held: ' .. ('abc'):upper())
--== db ext/lua/chart.lua
pcall(function() getmetatable('').__index = function() error('ESCAPED') end end)
