-- expect: attempt to modify a readonly table
setmetatable(_G, {__index = function() error('ESCAPED') end})
