-- expect: the weight 2 of a handler for `pre-render` is not between 0 and 1
events.on('pre-render', 2, print)
