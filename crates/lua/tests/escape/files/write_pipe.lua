-- expect: is not a regular file
-- granted: filesystem
fs.write('pipe', 'x')
