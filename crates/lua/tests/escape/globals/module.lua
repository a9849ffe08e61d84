-- expect: attempt to call a nil value
module('x')
