-- expect: the script took
for i = 1, 1e9 do pcall(regex.match, 'x' .. i, 'y') end
