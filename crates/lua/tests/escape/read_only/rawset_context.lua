-- expect: the context is read-only; its parts may change
-- at: post-install
events.on('post-install', function(ctx)
rawset(ctx, 'values', {})
end)
