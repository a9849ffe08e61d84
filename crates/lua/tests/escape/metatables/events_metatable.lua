-- expect: attempt to modify a readonly table
setmetatable(events, {})
