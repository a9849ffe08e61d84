-- expect: attempt to call a nil value
gcinfo()
