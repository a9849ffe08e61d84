-- expect: more memory than it may
-- at: pre-render
-- Goes on after the memory limit, and tries to leave something behind.
events.on('pre-render', function(ctx)
    pcall(buffer.create, 2^29)
    ctx.values.a = 'ESCAPED'
end)
