local labels = require("labels")

events.on("post-render", function(ctx)
    for _, object in ctx.objects do
        labels.add(object, {
            ["example.com/team"] = ctx.values.team,
            ["example.com/release"] = ctx.release.name,
        })
    end
end)
