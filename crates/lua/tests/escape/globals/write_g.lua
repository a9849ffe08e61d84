-- expect: attempt to modify a readonly table
_G.pcall = nil
