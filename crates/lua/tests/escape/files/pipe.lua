-- expect: is no ordinary file
-- granted: filesystem
fs.read('pipe')
