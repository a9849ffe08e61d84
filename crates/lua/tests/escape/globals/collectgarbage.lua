-- expect: attempt to call a nil value
collectgarbage('stop')
