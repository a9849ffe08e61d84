-- expect: is not between 0 and 1
events.on('pre-render', 0 / 0, print)
