-- expect: table.move takes at most
table.move({}, -2^30, 2^30, 1, {})
