-- expect: attempt to call a nil value
loadfile('/etc/passwd')
