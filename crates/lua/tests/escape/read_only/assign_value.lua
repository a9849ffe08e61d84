-- expect: `values.a` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
ctx.values.a = 2
end)
