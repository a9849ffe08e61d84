local config = require("shapes/config")

events.on("post-render", function(ctx)
    for _, setting in ctx.values.settings do
        table.insert(ctx.objects, config(ctx.release, setting.name, setting.data))
    end
end)
