-- expect: attempt to call a nil value
getfenv(0).os = 1
