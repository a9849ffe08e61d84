-- expect: tables are nested more than
-- at: pre-render
events.on('pre-render', function(ctx)
local t = {}
for i = 1, 10000 do t = {t} end
ctx.values.t = t
end)
