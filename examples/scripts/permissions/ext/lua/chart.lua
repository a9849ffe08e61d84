events.on("pre-render", function(ctx)
    if ctx.values.from ~= "" then
        local answer = http.get(ctx.values.from, { timeout = 3 })
        if answer.status ~= 200 then
            error(`{ctx.values.from} answers {answer.status}`, 0)
        end
        ctx.values.greeting = answer.body
    elseif ctx.values.file ~= "" then
        ctx.values.greeting = fs.read(ctx.values.file)
    else
        ctx.values.greeting = os.getenv("GREETING") or ctx.values.greeting
    end
end)
