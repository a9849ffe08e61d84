-- expect: table.create takes at most
table.create(2^31 - 1, 0)
