-- expect: attempt to call a nil value
newproxy(true)
