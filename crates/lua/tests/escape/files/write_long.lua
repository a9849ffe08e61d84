-- expect: the text has more than | more memory than it may
-- granted: filesystem
fs.write('long', string.rep('x', 4194304) .. 'x')
