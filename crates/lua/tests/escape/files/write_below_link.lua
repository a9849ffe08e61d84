-- expect: leads out of the folder
-- granted: filesystem
fs.write('link-to-folder/new.txt', 'ESCAPED')
