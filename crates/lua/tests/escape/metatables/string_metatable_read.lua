-- expect: held: locked
assert(getmetatable('') == 'locked')
error('held: locked')
