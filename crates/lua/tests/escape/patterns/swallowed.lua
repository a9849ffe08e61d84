-- expect: the script took
pcall(string.find, ('a'):rep(5000), ('.-'):rep(10) .. 'b')
