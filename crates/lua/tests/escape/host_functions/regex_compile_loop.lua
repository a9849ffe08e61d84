-- expect: the script took
-- seconds: 0.2
for i = 1, 1e9 do pcall(regex.match, 'x' .. i, 'y') end
