-- expect: this part of the context is gone
-- at: pre-render
local co
events.on('pre-render', 0.1, function(ctx) local m = ctx.values.m co = coroutine.wrap(function() coroutine.yield() return m.x end) co() end)
events.on('pre-render', 0.2, function() co() end)
