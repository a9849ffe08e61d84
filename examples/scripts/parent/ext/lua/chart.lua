local db = events.subchart("db")

-- The subchart's handlers of this event are not called.
db:off("post-render")

-- Those of this event are called from here, or not at all. The context is that of the subchart, with its values.
db:wrap("pre-render", function(ctx, next)
    next()
    ctx.values.greeting = ctx.values.greeting .. ", and by the parent after it"
end)
