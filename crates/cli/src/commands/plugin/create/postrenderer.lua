-- Gets the rendered manifests on standard input, and writes what is to be used instead.
-- `args` has the words of --post-renderer-args.
function main(args)
    local objects = {}
    for _, object in yaml.decode_all(io.read("a")) do
        object.metadata.annotations = object.metadata.annotations or {}
        object.metadata.annotations["example.com/rendered-by"] = plugin.name
        table.insert(objects, yaml.encode(object))
    end
    io.write(table.concat(objects, "---\n"))
end
