-- expect: argument 1 must be a string, not a table
json.decode({})
