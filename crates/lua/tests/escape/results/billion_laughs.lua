-- expect: values in all
-- at: pre-render
events.on('pre-render', function(ctx)
local t = {'ha'}
for i = 1, 40 do t = {t, t, t, t} end
ctx.values.t = t
end)
