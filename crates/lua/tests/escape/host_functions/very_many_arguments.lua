-- expect: too many results to unpack
json.decode(table.unpack({}, 1, 999999))
