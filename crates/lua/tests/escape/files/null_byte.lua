-- expect: is no path
-- granted: filesystem
fs.read('a\0b')
