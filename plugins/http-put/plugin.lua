-- An uploader that sends charts with PUT, as Artifactory, Nexus and WebDAV servers take files:
-- put+https://host/path/to/repository

local function check(answer, url)
    if answer.status < 200 or answer.status > 299 then
        local reason = string.sub(string.gsub(answer.body, "%s+", " "), 1, 200)
        error(`{url} answered {answer.status}: {reason}`, 0)
    end
end

function main(args)
    local folder = string.match(args.url, "^put%+(https?://.+)$")
    local file = string.match(args.archive, "[^/\\]+$")
    if folder == nil or file == nil then
        error(`{args.url} is no URL such as put+https://host/path`, 0)
    end
    local headers = { ["content-type"] = "application/gzip" }
    if args.username ~= "" then
        headers["authorization"] = "Basic " .. base64.encode(`{args.username}:{args.password}`)
    end
    local url = `{string.gsub(folder, "/+$", "")}/{file}`
    check(http.request({ method = "PUT", url = url, headers = headers, body = io.read("a"), timeout = 30 }), url)
end
