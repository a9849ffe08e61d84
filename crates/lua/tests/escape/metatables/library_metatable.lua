-- expect: attempt to modify a readonly table
setmetatable(table, {__index = print})
