-- expect: values in all
-- at: pre-render
events.on('pre-render', function(ctx)
local t = table.create(900000, 1)
ctx.values.t = t
end)
