-- expect: attempt to call a nil value
setfenv(1, {})
