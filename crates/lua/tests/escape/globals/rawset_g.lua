-- expect: attempt to modify a readonly table
rawset(_G, 'print', nil)
