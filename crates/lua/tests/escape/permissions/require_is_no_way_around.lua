-- expect: `os` needs the permission `os`
require('os').getenv('HOME')
