local names = require("names")

return function(release, name, data)
    return {
        apiVersion = "v1",
        kind = "ConfigMap",
        metadata = { name = names.of(release, name), labels = { ["app.kubernetes.io/managed-by"] = "Helm" } },
        data = data,
    }
end
