-- expect: is no file
-- granted: filesystem
fs.write('.', 'x')
