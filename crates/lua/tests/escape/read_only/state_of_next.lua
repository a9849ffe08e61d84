-- expect: attempt to modify a readonly table
-- at: post-install
events.on('post-install', function(ctx)
local _, content = ipairs(ctx.values.l)
rawset(content, 1, 'ESCAPED')
end)
