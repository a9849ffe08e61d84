-- expect: the script took
(('a'):rep(30)):find(('a?'):rep(30) .. ('a'):rep(30) .. 'b')
