-- expect: invalid format
string.format('%99999d', 1)
