-- expect: argument 1 must be a string, not nil
json.decode(table.unpack({}, 1, 7000))
