-- Called for URLs such as @name@://values.yaml. What it writes is the content of the URL.
function main(args)
    local path = string.match(args.url, "^[^:]+://(.+)$")
    if path == nil then
        error(`{args.url} has no path`, 0)
    end
    io.write(fs.read(path))
end
