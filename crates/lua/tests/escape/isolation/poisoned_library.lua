-- expect: held: 3
error('held: ' .. #'abc')
--== db ext/lua/chart.lua
pcall(function() string.len = function() return 'ESCAPED' end end)
