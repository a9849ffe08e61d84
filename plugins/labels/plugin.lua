-- A post-renderer that adds labels and annotations to all objects. Selectors stay as they are.

local USAGE = "the arguments are KEY=VALUE for labels, --annotation=KEY=VALUE, and --pods"

local function check_key(key)
    local prefix, name = string.match(key, "^(.-)/(.*)$")
    name = name or key
    local is_name = #name <= 63 and string.match(name, "^%w[%w_.-]*$") and string.match(name, "%w$")
    local is_prefix = prefix == nil or (#prefix <= 253 and string.match(prefix, "^[%l%d][%l%d.-]*$"))
    if not is_name or not is_prefix then
        error(`{key} is no valid key of a label or annotation`, 0)
    end
end

local function check_label(key, value)
    local is_value = value == "" or (#value <= 63 and string.match(value, "^%w[%w_.-]*$") and string.match(value, "%w$"))
    if not is_value then
        error(`{key}={value}: the value of a label has up to 63 letters, digits, -, _ and .`, 0)
    end
end

local function parse(args)
    local wanted = { labels = {}, annotations = {}, pods = false }
    for _, word in ipairs(args) do
        local annotation = string.match(word, "^%-%-annotation=(.*)$")
        local key, value = string.match(annotation or word, "^([^=-][^=]*)=(.*)$")
        if word == "--pods" then
            wanted.pods = true
        elseif key == nil then
            error(`{word} is not an argument of labels: {USAGE}`, 0)
        elseif annotation then
            check_key(key)
            wanted.annotations[key] = value
        else
            check_key(key)
            check_label(key, value)
            wanted.labels[key] = value
        end
    end
    if next(wanted.labels) == nil and next(wanted.annotations) == nil then
        error(`there is nothing to add: {USAGE}`, 0)
    end
    return wanted
end

local function is_map(value)
    return type(value) == "table"
end

local function add(holder, wanted)
    holder.metadata = if is_map(holder.metadata) then holder.metadata else {}
    for _, field in { "labels", "annotations" } do
        if next(wanted[field]) ~= nil then
            local metadata = holder.metadata
            metadata[field] = if is_map(metadata[field]) then metadata[field] else {}
            for key, value in wanted[field] do
                metadata[field][key] = value
            end
        end
    end
end

-- The template of pods of a workload, if it has one.
local function pod_template(object)
    local spec = object.spec
    if object.kind == "CronJob" and is_map(spec) and is_map(spec.jobTemplate) then
        spec = spec.jobTemplate.spec
    end
    return if is_map(spec) and is_map(spec.template) then spec.template else nil
end

local function label(object, wanted)
    if type(object.kind) == "string" and string.match(object.kind, "List$") and is_map(object.items) then
        for _, item in object.items do
            label(item, wanted)
        end
        return
    end
    add(object, wanted)
    local template = wanted.pods and object.kind ~= "PodTemplate" and pod_template(object)
    if template then
        add(template, wanted)
    end
end

function main(args)
    local wanted = parse(args)
    local documents = {}
    for _, object in yaml.decode_all(io.read("a")) do
        if is_map(object) then
            label(object, wanted)
        end
        table.insert(documents, yaml.encode(object))
    end
    io.write(table.concat(documents, "---\n"))
end
