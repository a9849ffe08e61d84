-- Modules are files of ext/lua. What one returns is what `require` gives.
local labels = {}

function labels.add(object, more)
    object.metadata.labels = object.metadata.labels or {}
    for name, value in more do
        object.metadata.labels[name] = value
    end
end

return labels
