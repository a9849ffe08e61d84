-- expect: more memory than it may | the script took longer
local s = ('x'):rep(1000000)
local t = string.format(('%s'):rep(100), table.unpack(table.create(100, s)))
