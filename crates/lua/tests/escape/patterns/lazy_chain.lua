-- expect: the script took
(('a'):rep(5000)):find(('.-'):rep(10) .. 'b')
