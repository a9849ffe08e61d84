-- expect: exceeded max depth
json.decode(('['):rep(20000) .. (']'):rep(20000))
