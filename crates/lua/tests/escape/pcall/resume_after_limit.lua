-- expect: the script took
-- at: pre-render
-- Goes on after the limit, and tries to leave something behind.
events.on('pre-render', function(ctx)
    pcall(function() while true do end end)
    ctx.values.a = 'ESCAPED'
end)
