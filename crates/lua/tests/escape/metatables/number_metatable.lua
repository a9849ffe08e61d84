-- expect: held: locked
if type(getmetatable(1)) == 'table' then error('ESCAPED') end
if type(getmetatable(true)) == 'table' then error('ESCAPED') end
error('held: ' .. getmetatable(1))
