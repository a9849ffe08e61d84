-- expect: the script took more than
-- seconds: 2
(('b'):rep(2000000)):match('[^' .. ('a'):rep(1000000) .. ']*$')
