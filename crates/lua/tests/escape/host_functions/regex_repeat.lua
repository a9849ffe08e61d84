-- expect: invalid repeat count
regex.match('((a{1000}){1000}){1000}', 'x')
