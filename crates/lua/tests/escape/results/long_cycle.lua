-- expect: the table contains itself
-- at: pre-render
events.on('pre-render', function(ctx)
local first = {}
local t = first
for i = 1, 100 do t.n = {} t = t.n end
t.n = first
ctx.values.t = first
end)
