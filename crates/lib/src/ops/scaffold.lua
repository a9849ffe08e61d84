-- Handlers of this chart. `pintle lua check` looks for mistakes, `pintle lua run . pre-render` tries one out, and
-- `pintle lua types` prints the types of everything that is used here, for editors.

-- Before rendering, values may change. They must still fit values.schema.json afterwards.
events.on("pre-render", function(ctx)
    if ctx.release.isUpgrade then
        log.debug("bringing " .. ctx.release.name .. " to version " .. ctx.chart.version)
    end
end)

-- After rendering, objects may change, go and come.
events.on("post-render", function(ctx)
    for _, object in ctx.objects do
        object.metadata.annotations = object.metadata.annotations or {}
        object.metadata.annotations["example.com/chart"] = ctx.chart.name
    end
end)
