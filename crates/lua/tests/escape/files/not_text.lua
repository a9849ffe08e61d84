-- expect: a string in UTF-8
-- granted: filesystem
fs.read('\xff\xfe')
