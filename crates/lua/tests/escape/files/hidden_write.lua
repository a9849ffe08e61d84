-- expect: hidden files are not for scripts
-- granted: filesystem
fs.write('.bashrc', 'ESCAPED')
