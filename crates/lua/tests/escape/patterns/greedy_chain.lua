-- expect: the script took
(('a'):rep(5000)):match(('.*'):rep(10) .. 'b')
