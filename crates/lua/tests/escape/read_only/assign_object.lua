-- expect: `objects[1].kind` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
ctx.objects[1].kind = 'x'
end)
