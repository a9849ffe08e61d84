-- expect: attempt to modify a readonly table
-- at: post-install
events.on('post-install', function(ctx)
local _, content = pairs(ctx.values)
content.a = 'ESCAPED'
end)
