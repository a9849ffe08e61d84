local sizes = {
    small = { replicas = 1, memory = "256Mi" },
    medium = { replicas = 2, memory = "1Gi" },
    large = { replicas = 5, memory = "4Gi" },
}

events.on("pre-render", function(ctx)
    for name, value in sizes[ctx.values.size] do
        if ctx.values[name] == nil or ctx.values[name] == null then
            ctx.values[name] = value
        end
    end
end)
