-- expect: attempt to modify a readonly table
string.rep = function() return 'x' end
