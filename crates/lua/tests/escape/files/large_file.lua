-- expect: the text has more than
-- granted: filesystem
fs.read('large')
