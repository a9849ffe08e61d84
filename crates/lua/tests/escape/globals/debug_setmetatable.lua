-- expect: attempt to index nil with 'setmetatable'
debug.setmetatable('', {})
