-- expect: `os` needs the permission `os`
error('ESCAPED ' .. os.getenv('HOME'))
