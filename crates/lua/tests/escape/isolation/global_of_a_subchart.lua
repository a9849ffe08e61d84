-- expect: held: nil
error('held: ' .. tostring(leak))
--== db ext/lua/chart.lua
leak = 'ESCAPED'
