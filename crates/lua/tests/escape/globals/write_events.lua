-- expect: attempt to modify a readonly table
events.on = print
