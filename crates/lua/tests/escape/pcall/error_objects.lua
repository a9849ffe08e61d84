-- expect: the script took
while true do pcall(error, setmetatable({}, {__tostring = function() return 'x' end})) end
