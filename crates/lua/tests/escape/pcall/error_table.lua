-- expect: {}
error({})
