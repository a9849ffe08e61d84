-- expect: document contains excessive aliasing
local lines = {'a0: &a0 [x, x, x, x, x, x, x, x, x]'}
for i = 1, 12 do
    local refs = {}
    for j = 1, 9 do refs[j] = '*a' .. (i - 1) end
    lines[#lines + 1] = 'a' .. i .. ': &a' .. i .. ' [' .. table.concat(refs, ', ') .. ']'
end
yaml.decode(table.concat(lines, '\n'))
