-- expect: values in all
-- at: post-render
events.on('post-render', function(ctx)
for i = 1, 60000 do ctx.objects[i] = {apiVersion = 'v1', kind = 'Pod'} end
end)
