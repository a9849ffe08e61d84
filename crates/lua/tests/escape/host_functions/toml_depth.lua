-- expect: toml.decode
toml.decode(('a.'):rep(20000) .. 'b = 1')
