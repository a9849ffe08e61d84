-- expect: bytes of text in all
-- at: pre-render
events.on('pre-render', function(ctx)
local s = ('x'):rep(100000)
ctx.values.t = {}
for i = 1, 100 do ctx.values.t[i] = s end
end)
