-- expect: hidden files are not for scripts
-- granted: filesystem
fs.list('link-to-hidden-folder')
