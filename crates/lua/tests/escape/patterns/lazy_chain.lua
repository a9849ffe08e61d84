-- expect: the script took
-- seconds: 0.5
(('a'):rep(5000)):find(('.-'):rep(10) .. 'b')
