-- expect: matches
regex.find_all('.', ('x'):rep(100000))
