-- expect: attempt to modify a readonly table
json.encode = function() return 'x' end
