-- expect: `values.m.x` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
ctx.values.m.x = 2
end)
