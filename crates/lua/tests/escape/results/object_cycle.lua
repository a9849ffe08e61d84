-- expect: the table contains itself
-- at: post-render
events.on('post-render', function(ctx)
ctx.objects[1].metadata.labels = ctx.objects[1]
local a = {}
a.a = a
ctx.objects[1].spec = a
end)
