-- expect: hidden files are not for scripts
-- granted: filesystem
fs.exists('link-to-hidden')
