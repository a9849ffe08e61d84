-- expect: bytes of text in all
-- at: pre-render
events.on('pre-render', function(ctx)
ctx.values.t = ('x'):rep(4194304) .. 'y'
end)
