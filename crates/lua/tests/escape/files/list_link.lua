-- expect: leads out of the folder
-- granted: filesystem
fs.list('link-to-folder')
