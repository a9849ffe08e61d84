-- expect: out of limits
string.pack(('!'):rep(10) .. 'i17', 1)
