-- expect: string.rep would make more than
string.rep(12345, 1e8)
