-- expect: `values.l` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
table.insert(ctx.values.l, 3)
end)
