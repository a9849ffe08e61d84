-- expect: values.t.t: the table contains itself
-- at: pre-render
events.on('pre-render', function(ctx)
local t = {}
t.t = t
ctx.values.t = t
end)
