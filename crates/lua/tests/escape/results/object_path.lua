-- expect: objects[2]: an object must have the text `apiVersion`
-- at: post-render
events.on('post-render', function(ctx)
ctx.objects[2] = {kind = 'Pod'}
end)
