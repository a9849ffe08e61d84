-- A getter that fills the variables of the environment into a file: envsubst://path/to/values.yaml

-- The value of ${NAME}, ${NAME:-default} or ${NAME:?message}.
local function value_of(expression, where)
    local name, operator, rest = string.match(expression, "^([%a_][%w_]*)(:?[-?]?)(.*)$")
    if name == nil or (operator == "" and rest ~= "") or operator == ":" then
        error(`{where}: $\{{expression}\} is no variable; use $$\{ for a plain $\{`, 0)
    end
    local value = os.getenv(name)
    local is_missing = value == nil or (value == "" and string.sub(operator, 1, 1) == ":")
    if is_missing and string.match(operator, "%-$") then
        return rest
    elseif is_missing then
        local reason = if operator ~= "" and rest ~= "" then rest else "it is not set; give a default as in $\{NAME:-default\}"
        error(`{where}: {name}: {reason}`, 0)
    elseif string.find(value, "[\r\n]") then
        error(`{where}: {name} has several lines, which would change the file; use --set-file for it`, 0)
    end
    return value
end

-- `$$` is a plain dollar sign, and one before anything but a brace stays as it is.
local function fill(line, where)
    local result, at = {}, 1
    while true do
        local dollar = string.find(line, "$", at, true)
        if dollar == nil then
            table.insert(result, string.sub(line, at))
            return table.concat(result)
        end
        table.insert(result, string.sub(line, at, dollar - 1))
        local following = string.sub(line, dollar + 1, dollar + 1)
        if following == "{" then
            local close = string.find(line, "}", dollar, true)
            if close == nil then
                error(`{where}: $\{ is not closed`, 0)
            end
            table.insert(result, value_of(string.sub(line, dollar + 2, close - 1), where))
            at = close + 1
        else
            table.insert(result, "$")
            at = dollar + (if following == "$" then 2 else 1)
        end
    end
end

function main(args)
    local path = string.match(args.url, "^envsubst://(.+)$")
    if path == nil then
        error(`{args.url} has no path; a URL is envsubst://values.yaml`, 0)
    end
    local lines = {}
    for number, line in string.split(fs.read(path), "\n") do
        table.insert(lines, fill(line, `{path}:{number}`))
    end
    io.write(table.concat(lines, "\n"))
end
