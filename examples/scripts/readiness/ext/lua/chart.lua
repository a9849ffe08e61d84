-- Called when all objects are ready by Kubernetes' own measure, if waiting was asked for (--wait). As long as it
-- returns false it is called again, until --timeout is over.
events.on("ready", function(ctx)
    if not kubernetes.connected() then
        return true
    end
    local config = kubernetes.get("v1", "ConfigMap", ctx.release.name, ctx.release.namespace)
    if config == nil or config.data.greeting == nil then
        return false, "there is no greeting yet"
    end
    log.info("ready with the greeting " .. config.data.greeting)
    return true
end)
