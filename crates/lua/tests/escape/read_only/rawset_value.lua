-- expect: `values` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
rawset(ctx.values, 'a', 2)
end)
