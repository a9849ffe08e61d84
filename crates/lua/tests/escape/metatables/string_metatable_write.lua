-- expect: attempt to index string with 'y'
local mt = getmetatable('')
if type(mt) ~= 'table' then ('x').y = 1 string.upper = nil end
mt.__index = nil
