-- expect: the handler must be a function, not a string
events.on('pre-render', 'print')
