-- expect: is not between 0 and 1
events.on('pre-render', -math.huge, print)
