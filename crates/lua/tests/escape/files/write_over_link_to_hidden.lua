-- expect: is no ordinary file
-- granted: filesystem
fs.write('link-to-hidden', 'ESCAPED')
