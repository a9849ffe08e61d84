-- expect: nothing hidden is listed
-- granted: filesystem
for _, name in fs.list('.') do
    if name:sub(1, 1) == '.' then error('ESCAPED: ' .. name) end
end
error('nothing hidden is listed')
