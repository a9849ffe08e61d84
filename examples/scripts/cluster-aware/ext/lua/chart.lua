local DEFAULT = "storageclass.kubernetes.io/is-default-class"

events.on("pre-render", function(ctx)
    if ctx.values.storageClass ~= "" or not kubernetes.connected() then
        return
    end
    for _, class in kubernetes.storage_classes() do
        local annotations = class.metadata.annotations or {}
        if annotations[DEFAULT] == "true" then
            ctx.values.storageClass = class.metadata.name
        end
    end
end)

events.on("post-render", function(ctx)
    -- An object of a kind that the cluster does not know would make the installation fail.
    if kubernetes.connected() and kubernetes.has("monitoring.coreos.com/v1", "ServiceMonitor") then
        table.insert(ctx.objects, {
            apiVersion = "monitoring.coreos.com/v1",
            kind = "ServiceMonitor",
            metadata = { name = ctx.release.name },
            spec = { selector = { matchLabels = { app = ctx.release.name } }, endpoints = array() },
        })
    end
end)
