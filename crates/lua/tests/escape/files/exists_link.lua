-- expect: leads out of the folder
-- granted: filesystem
fs.exists('link-to-file')
