-- expect: attempt to call a nil value
loadstring('return 1')()
