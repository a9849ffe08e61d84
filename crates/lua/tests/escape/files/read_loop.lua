-- expect: the script took
-- granted: filesystem
while true do fs.read('inside.txt') end
