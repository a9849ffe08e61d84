-- expect: the script took
-- seconds: 0.2
(('a'):rep(5000)):find(('.-'):rep(10) .. 'b')
