-- expect: leads out of the folder
-- granted: filesystem
fs.read('link-to-device')
