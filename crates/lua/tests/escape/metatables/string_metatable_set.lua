-- expect: invalid argument #1 to 'setmetatable'
setmetatable('', {__index = {}})
