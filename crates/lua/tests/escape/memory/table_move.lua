-- expect: table.move takes at most
table.move({}, 1, 2^31 - 2, 1, {})
