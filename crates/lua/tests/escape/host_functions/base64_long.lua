-- expect: the text has more than
base64.encode(('x'):rep(4000000))
