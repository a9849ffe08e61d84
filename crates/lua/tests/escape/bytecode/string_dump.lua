-- expect: attempt to call a nil value
string.dump(print)
