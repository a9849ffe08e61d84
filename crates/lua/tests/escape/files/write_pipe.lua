-- expect: is no ordinary file
-- granted: filesystem
fs.write('pipe', 'x')
