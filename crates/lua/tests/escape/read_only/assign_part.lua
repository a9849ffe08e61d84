-- expect: `objects` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
ctx.objects = {}
end)
