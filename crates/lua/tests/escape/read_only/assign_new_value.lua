-- expect: `values.b` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
ctx.values.b = 2
end)
