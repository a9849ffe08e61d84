-- expect: held: locked
if type(getmetatable(null)) == 'table' then error('ESCAPED') end
error('held: ' .. getmetatable(null))
