-- Called with the words after `@name@`. What it returns is the exit code; an error ends it with 1 and a message.
function main(args)
    local who = args[1] or "world"
    print(`Hello, {who}! This is {plugin.name} {plugin.version} in namespace {plugin.settings.HELM_NAMESPACE}.`)
    return 0
end
