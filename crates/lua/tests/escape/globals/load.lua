-- expect: attempt to call a nil value
load('return 1')()
