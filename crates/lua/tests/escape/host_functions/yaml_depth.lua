-- expect: depth
yaml.decode(('['):rep(20000))
