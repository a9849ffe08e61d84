-- expect: `values` is read-only in `post-install`
-- at: post-install
events.on('post-install', function(ctx)
table.freeze(ctx.values)
end)
