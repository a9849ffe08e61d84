-- expect: leads out of the folder
-- granted: filesystem
fs.read('/proc/self/environ')
