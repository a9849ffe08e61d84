-- expect: is not a regular file
-- granted: filesystem
fs.read('pipe')
