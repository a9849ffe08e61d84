-- expect: the script took
-- seconds: 0.2
-- granted: filesystem
while true do fs.read('inside.txt') end
