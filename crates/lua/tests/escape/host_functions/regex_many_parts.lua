-- expect: matches
regex.split('', ('x'):rep(100000))
