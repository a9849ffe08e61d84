-- expect: assertion failed!
assert(false)
