-- expect: is not a regular file
-- granted: filesystem
fs.write('link-to-device', 'x')
