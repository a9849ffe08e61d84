-- expect: held: context
-- at: post-install
events.on('post-install', function(ctx)
if type(getmetatable(ctx.values)) == 'table' then error('ESCAPED') end
error('held: ' .. getmetatable(ctx.values))
end)
