-- expect: leads out of the folder
-- granted: filesystem
fs.read('a/../../secret.txt')
