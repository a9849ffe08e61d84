-- expect: held: 
error('held: \27[2J' .. ('x'):rep(1000000))
