-- expect: objects
-- at: post-render
events.on('post-render', function(ctx)
table.insert(ctx.objects, {1, 2})
end)
