-- expect: expression nests too deeply
regex.match(('('):rep(5000) .. (')'):rep(5000), 'x')
