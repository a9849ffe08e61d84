events.on("pre-render", function(ctx)
    ctx.values.greeting = ctx.values.greeting .. ", changed by the subchart"
end)

events.on("post-render", function(ctx)
    error("this handler is silenced by the parent", 0)
end)
