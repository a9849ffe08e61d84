-- expect: table
error({})
