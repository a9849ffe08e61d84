-- expect: objects[1]
-- at: post-render
events.on('post-render', function(ctx)
ctx.objects[1] = 'kind: Pod'
end)
