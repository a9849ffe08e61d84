-- expect: the script took
-- seconds: 0.5
-- granted: filesystem
while true do fs.read('inside.txt') end
