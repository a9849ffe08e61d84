-- expect: in all
-- at: pre-render
events.on('pre-render', function(ctx)
local m = ctx.values.m
m.text = ('x'):rep(100000)
local all = {}
for i = 1, 1000 do all[i] = m end
ctx.values.all = all
end)
