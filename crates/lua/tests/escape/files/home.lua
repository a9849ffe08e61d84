-- expect: No such file
-- granted: filesystem
fs.read('~/kube/config'):upper()
