-- expect: the script took
-- seconds: 0.2
for i = 1, 1e9 do (('('):rep(10000)):find('%b()') end
