-- expect: objects
-- at: post-render
events.on('post-render', function(ctx)
ctx.objects = {kind = 'Pod'}
end)
