-- expect: the script took
while true do log.info('x') end
