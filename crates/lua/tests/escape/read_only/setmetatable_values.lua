-- expect: cannot change a protected metatable
-- at: post-install
events.on('post-install', function(ctx)
setmetatable(ctx.values, {})
end)
