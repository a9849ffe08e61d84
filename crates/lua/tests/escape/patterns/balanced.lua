-- expect: the script took
for i = 1, 1e9 do (('('):rep(10000)):find('%b()') end
