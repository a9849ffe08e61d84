-- expect: the script took
-- seconds: 0.5
for i = 1, 1e9 do pcall(regex.match, 'x' .. i, 'y') end
