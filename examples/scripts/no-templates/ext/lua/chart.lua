-- Another way to make objects: no template is rendered.
events.on("pre-render", function(ctx)
    ctx.templates = array()
end)

events.on("post-render", function(ctx)
    for _, region in ctx.values.regions do
        table.insert(ctx.objects, {
            apiVersion = "v1",
            kind = "ConfigMap",
            metadata = { name = `{ctx.release.name}-{region.name}` },
            data = { languages = table.concat(region.languages, ",") },
        })
    end
end)
