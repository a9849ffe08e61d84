-- expect: ext/lua/chart.lua:3:
local x = {
