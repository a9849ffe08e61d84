-- expect: leads out of the folder
-- granted: filesystem
fs.write('../new.txt', 'ESCAPED')
