-- expect: values.f: a function cannot be kept
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.f = function() end
end)
