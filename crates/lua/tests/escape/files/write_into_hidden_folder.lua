-- expect: hidden files are not for scripts
-- granted: filesystem
fs.write('link-to-hidden-folder/hook', 'ESCAPED')
