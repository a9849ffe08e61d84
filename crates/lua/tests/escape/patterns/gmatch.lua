-- expect: the script took
for _ in (('a'):rep(5000)):gmatch('.-.-.-b') do end
