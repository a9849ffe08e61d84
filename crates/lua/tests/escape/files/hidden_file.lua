-- expect: hidden files are not for scripts
-- granted: filesystem
fs.read('.git/config')
