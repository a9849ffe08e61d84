-- expect: `values.l` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
table.move({1}, 1, 1, 1, ctx.values.l)
end)
