-- Called for URLs such as @name@://folder. The archive of the chart is its input, and args.archive the path of the file.
function main(args)
    local folder = string.match(args.url, "^[^:]+://(.+)$")
    if folder == nil then
        error(`{args.url} has no folder`, 0)
    end
    local file = string.match(args.archive, "[^/\\]+$")
    fs.write(`{folder}/{file}`, io.read("a"))
end
