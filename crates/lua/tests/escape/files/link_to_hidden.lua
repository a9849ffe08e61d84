-- expect: hidden files are not for scripts
-- granted: filesystem
fs.read('link-to-hidden')
