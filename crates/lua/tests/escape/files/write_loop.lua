-- expect: steps
-- granted: filesystem
while true do fs.write('inside.txt', 'fine') end
