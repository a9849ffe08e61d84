local function earlier(release)
    if not kubernetes.connected() then
        return nil
    end
    local secret = kubernetes.get("v1", "Secret", release.name, release.namespace)
    return secret and secret.data and secret.data.password and base64.decode(secret.data.password)
end

events.on("pre-render", function(ctx)
    if ctx.values.password == "" then
        -- `math.random` gives the same numbers in every run; the function of templates does not.
        ctx.values.password = earlier(ctx.release) or template.render("{{ randAlphaNum 24 }}", {})
    end
end)
