-- Weight 0: before any other handler looks at the values.
events.on("pre-render", 0, function(ctx)
    local ingress = ctx.values.ingress
    if ingress.enabled and ingress.host == "" then
        error("ingress.enabled needs ingress.host; set it with --set ingress.host=www.example.com", 0)
    end
    if ctx.values.tls and not ingress.enabled then
        log.warn("tls has no effect without ingress.enabled")
    end
end)
