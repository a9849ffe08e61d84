-- expect: fs.read: loop
-- granted: filesystem
fs.read('loop')
