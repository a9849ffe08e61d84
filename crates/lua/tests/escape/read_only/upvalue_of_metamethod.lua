-- expect: attempt to call a string value
-- at: post-install
events.on('post-install', function(ctx)
getmetatable(ctx)('x')
end)
