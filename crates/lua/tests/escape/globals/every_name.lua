-- expect: held: nothing leads out
-- Walks everything that can be reached and looks for what should not be there.
local seen, bad = {}, {'execute', 'popen', 'loadstring', 'getfenv', 'setfenv', 'loadlib', 'dofile', 'open', 'exit', 'dump', 'getregistry'}
local function walk(t, path)
    if seen[t] then return end
    seen[t] = true
    for key, value in pairs(t) do
        if table.find(bad, key) then error('ESCAPED ' .. path .. '.' .. tostring(key)) end
        if type(value) == 'table' and path ~= '_G.http' then walk(value, path .. '.' .. tostring(key)) end
        local meta = getmetatable(value)
        if type(meta) == 'table' then walk(meta, path .. '.' .. tostring(key) .. '<meta>') end
    end
end
walk(_G, '_G')
error('held: nothing leads out')
